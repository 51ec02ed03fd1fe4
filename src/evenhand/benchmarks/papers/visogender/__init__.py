"""The tables and figures of the VisoGender paper."""
