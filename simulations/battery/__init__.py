"""Does evenhand say what is true? Blind and planted models through the public metrics, many times over."""
