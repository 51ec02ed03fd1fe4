"""Would tests notice? Random small mistakes in the rooms that compute, each tried on tests that run it."""
