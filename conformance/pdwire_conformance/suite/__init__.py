"""The cases of the conformance suite, as data: what is asked, and what the wire demands."""
