"""The page of a run, put together."""
