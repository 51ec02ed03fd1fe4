"""The tables and figures of the SkewSize paper."""
