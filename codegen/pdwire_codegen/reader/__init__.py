"""TOML files to a :class:`~pdwire_codegen.draft.Draft`.

Rules: shape only. A reader knows which keys a table has and which TOML type each takes;
what the values mean is for the rules.
"""
