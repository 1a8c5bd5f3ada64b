"""The cases of the conformance suite, as data: what is asked, and what the wire demands.

Two kinds of case: those that follow from the spec (:mod:`.derived`, one module per kind
of rule), and those that people wrote (``files/``). :func:`.load.cases` has all of them.

How binding a case is:

* **MUST** is what corrupts memory, crashes, hangs or misreads when it is done otherwise:
  which frame is which, every value, every frame count, ranges, widths, lists that lie,
  rules across frames, hosts and ports that nobody can dial, another peer's message.
* **SHOULD** is the one spelling that a value has, where every reader that takes another
  takes it for the same value: `` 7 ``, ``+5``, ``007``, ``-0``, a longer msgpack header,
  a count of zero for no lists, blanks and line ends in names, bytes in a reason that are
  no UTF-8. Nothing is misread, but what is sent on is not what came.
* **MAY** is where the wire leaves a choice and ours is made: which of two keys counts, and
  whether a number that an empty frame says too is written as an empty frame.

A spelling that readers differ about is a MUST: ``1_000`` is a thousand to one, 1 to
another and an error to a third.
"""
