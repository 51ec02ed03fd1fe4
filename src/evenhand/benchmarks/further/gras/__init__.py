"""GRAS: traits that a model affirms of faces."""
