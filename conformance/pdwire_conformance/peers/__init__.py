"""Real SGLang releases as peers: fetch one, load it unmodified, ask it to encode and decode.

Rules of this package:

* A release is fetched from the package registry, cached outside the repository and
  never changed; nothing of it is kept here.
* One process per release: releases cannot share an interpreter. :mod:`.runner` is
  that process, :class:`.client.Peer` is how everybody else talks to it.
* An adapter never packs or parses a frame. The release's own function does that; the
  adapter only drives it with stand-ins and names what went in and what came out.
"""
