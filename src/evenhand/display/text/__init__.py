"""How numbers, names of models, reasons and verdicts are written, and in which language."""
