"""Tables of counts: Cramer's V, its null, its intervals and its summaries over classes."""
