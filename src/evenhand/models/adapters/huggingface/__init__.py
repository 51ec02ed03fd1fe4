"""Adapters for Hugging Face models, one file for each family."""
