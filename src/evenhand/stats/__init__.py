"""Pure kernels: arrays of stated shape in, arrays out."""
