"""Asks, computes, writes and renders."""
