"""The tables and figures of the MMBias paper."""
