"""FairFace with words of crime and animals among the labels (CLIP, section 7.1)."""
