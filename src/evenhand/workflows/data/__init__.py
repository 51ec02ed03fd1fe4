"""`evenhand data`: fetches, checks and lists data sets."""
