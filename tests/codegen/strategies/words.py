"""Names and texts of a drawn spec, among them those that a generator trips over.

Rules: a name is any that the language allows, and the ones that generated code uses
itself come up often; a doc may end in a quote or a backslash and hold brackets, which a
generator that splits lines by counting them would take for its own.
"""

from __future__ import annotations

import string

from hypothesis import strategies as st

PLAIN = (
    "room", "endpoint", "dst_port", "dst_kv_ptrs", "dst_kv_item_lens", "agent_name", "generation",
    "is_dummy", "status", "reason", "chunk_index", "staging_base_ptr", "required_dst_info_num",
    "a", "b2", "a_name_that_is_longer_than_most_are", "x_1", "x_2", "x_10",
)  # fmt: skip
GENERATED = (
    "frames", "message", "m", "n", "done", "derived", "guard", "found", "body", "parts", "says",
    "came", "f0", "f1", "decode", "encode", "re", "len", "match", "type", "id", "self", "cls",
    "l", "pattern", "no_room", "no_n", "at_m", "dataclass", "final", "any", "counts", "draft",
    "seal", "plain", "dec", "text", "array", "lists", "names", "flag", "host",
)  # fmt: skip
"""Lower-case names that generated code or its runtime uses."""

UNITS = ("", "bytes", "count", "address")

field_names = st.sampled_from(PLAIN) | st.sampled_from(GENERATED)
words = st.sampled_from(["VRAM", "DRAM", "a", "x-1", "(", ")", "[a]", '"', "\\", "'", "#", "{b}"])
"""Words of ``allowed``: printable, no blanks, no commas."""

_PUNCTUATED = st.sampled_from(
    [
        'He said "no".', 'Ends in a quote "', "Ends in a backslash \\", 'Three """ quotes.',
        "Brackets (one, two] = {three: 4}, and so on until the line is long enough to be split up.",
        "Ünïcode – 失敗.", "A_word_without_any_blank_" * 6, "Two\n\nparagraphs, and a tab\there.",
        "A call = f(x, 'y') longer than a line, or nearly (really: much longer) = [it, ends)",
        "It's %s and {name} and \\n.",
    ]
)  # fmt: skip
_SENTENCES = st.builds(
    lambda first, rest, long: f"{first} {' '.join(rest * long)}.",
    st.sampled_from(["Says", "Tells", "Counts"]),
    st.lists(st.sampled_from(["where", "the", "rank", "keeps", "KV"]), min_size=1, max_size=6),
    st.sampled_from([1, 1, 4, 9]),
)

docs = _SENTENCES | _PUNCTUATED
plain_docs = _SENTENCES

literals = st.text(string.ascii_letters + "_-.:/\"'\\ %^$*+?|()<>=", min_size=1, max_size=5)
"""Pieces of a notification text."""

constants = st.sampled_from(["", "None", "TAG", 'a"b', "\\", "a\nb", "\x00", "'", "0"])
"""Constants that tell nothing apart."""
