"""Hypothesis strategies for every message of the spec."""
