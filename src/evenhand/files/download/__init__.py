"""Downloads from addresses, with checksums and limits."""
