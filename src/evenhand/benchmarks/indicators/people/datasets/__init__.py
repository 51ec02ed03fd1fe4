"""One file for each published data set of people, and which of them lies in a folder."""
