"""One file for each way to change embeddings."""
