"""Options that play roles: sets that differ in who is shown, and questions that cannot be decided."""
