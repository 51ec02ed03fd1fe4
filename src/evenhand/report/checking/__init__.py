"""What a run says in words, read back and compared with its numbers."""
