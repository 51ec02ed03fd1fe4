"""The tables: read, validate, count, derive; and Run, which reads a run folder."""
