"""Subspaces and dimensions of embeddings, and nearest neighbours."""
