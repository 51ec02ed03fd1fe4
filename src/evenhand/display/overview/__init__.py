"""The first lines of a run: what differs, for whom, by how much, how sure, and what to do next."""
