"""The suite as pytest items: ``pytest --pdwire-target=python:my.backend:make``."""
