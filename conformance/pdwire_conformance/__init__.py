"""The judge: real SGLang releases as peers, recorded vectors, proofs and measurements.

Rules of the package: it may import ``pdwire`` and ``pdwire_codegen``, and neither of them
imports it; nothing here packs or parses a frame on a peer's behalf, the peer's own code does.
"""
