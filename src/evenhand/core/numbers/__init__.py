"""How numbers are rounded, and texts and addresses made safe to show; imports nothing of ours."""
