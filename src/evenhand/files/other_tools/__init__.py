"""Files that other evaluation tools write, read as tables of samples with what they are for."""
