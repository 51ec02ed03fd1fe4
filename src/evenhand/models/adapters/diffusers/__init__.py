"""Adapter for pipelines of diffusers, which make images."""
