"""Files: atomic writes and hashes. Nothing is ever left half-written."""
