"""Cases that follow from the spec itself, one module per kind of rule."""
