"""One folder or file for each library or server that runs models."""
