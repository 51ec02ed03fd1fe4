"""Figures of artifacts as Vega-Lite specifications."""
