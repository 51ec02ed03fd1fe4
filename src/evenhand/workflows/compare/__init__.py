"""`evenhand compare`: pairs runs, tests differences, follows them over time."""
