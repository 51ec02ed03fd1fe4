"""What generated data sets are made of: prompts, occupations, sports and backgrounds."""
