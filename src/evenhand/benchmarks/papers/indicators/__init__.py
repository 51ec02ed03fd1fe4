"""The tables and figures of the Fairness Indicators paper."""
