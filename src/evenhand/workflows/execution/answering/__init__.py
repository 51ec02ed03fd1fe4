"""Pending requests, their batches and the cache of answers."""
