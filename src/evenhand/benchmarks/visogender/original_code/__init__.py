"""Files and conventions of the code that the VisoGender paper came with."""
