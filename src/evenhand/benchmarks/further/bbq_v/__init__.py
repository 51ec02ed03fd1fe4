"""BBQ-V (SB-Bench) and what is laid out like it: questions about two people that often cannot be decided."""
