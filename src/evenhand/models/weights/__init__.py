"""Weights from disk and hub, on a device, without code in them."""
