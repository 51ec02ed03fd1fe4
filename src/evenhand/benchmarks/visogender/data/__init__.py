"""Images, captions and occupations of VisoGender, with the corrections of its release."""
