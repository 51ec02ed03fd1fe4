"""VisoGender: which pronoun does a model attach to a professional, and whom does it retrieve first?"""
