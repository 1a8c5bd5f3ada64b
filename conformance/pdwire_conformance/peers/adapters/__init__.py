"""Adapters: one module per backend and shape, each driving the releases' own code.

See :mod:`..registry` for how one registers itself. An adapter reads facts off the
release (does this class have that method?) rather than comparing version numbers.
"""
