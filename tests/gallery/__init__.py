"""Every table and figure of the four papers, from one set of demo runs over made-up data."""
