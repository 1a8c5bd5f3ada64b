"""Hypothesis against a testee: properties, findings, replay."""
