"""SocialCounterfactuals: generated sets of images that differ in two attributes of a person."""
