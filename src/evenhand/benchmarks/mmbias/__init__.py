"""MMBias: which words and images a model ties to groups of people."""
