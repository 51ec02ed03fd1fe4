"""Evidence made of other evidence: of vectors, of a search among them, of two models."""
