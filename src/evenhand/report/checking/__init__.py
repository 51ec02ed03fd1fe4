"""What a run says in words, read back and held against its numbers."""
