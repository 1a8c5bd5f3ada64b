"""Real managers of real SGLang releases hand over KV bytes, among themselves and with ours.

Rules of this package:

* One process per side and rank (:mod:`.side`), spoken to in JSON lines. A side runs the
  real, unmodified manager of one release, or ours (:mod:`.ours`), on the real engine.
* Bytes never cross the lines: a side fills its memory from a seed and digests it, and
  digests are compared. They are taken from memory that the engine wrote, nothing else.
* What a release reads from the rest of SGLang is answered by plain values
  (:mod:`.answers`). Nothing of a release is patched.
* Loopback only, every wait has a deadline, every process is ended by its own id.
"""
