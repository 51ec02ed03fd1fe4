"""Thin commands and exit codes."""
