"""Adapters that meet capabilities; heavy libraries are imported late."""
