"""``pdwire bench``: side-by-side measurements, never timed tests.

Rules: what is compared runs in one go on one machine, in turns, so that a busy neighbour
slows all of it down; what a number stands for is told beside it; nothing fails because it
was slow. ``codec`` measures encoding and decoding.
"""
