"""Fitted changes of embeddings: fit on one half of the items, measured on the other."""
