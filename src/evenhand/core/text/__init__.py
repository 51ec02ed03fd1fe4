"""How numbers, names of models and reasons are written."""
