"""Tests; one thread each, because two workers with two threads each wait for one another on tiny inputs."""

import os

# Before torch, numpy or polars are imported, and for subprocesses: 66 tests of captioners take 13 s, not 186.
os.environ |= {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "POLARS_MAX_THREADS": "1",
}
