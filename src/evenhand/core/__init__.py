"""Vocabulary: results, errors, seeds, capabilities, registry. Imports no other room."""
