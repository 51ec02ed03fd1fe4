"""Quantised MobileNets in TensorFlow Lite files, through ai-edge-litert: a model of your own in 15 lines.

    MOBILENETS=folder evenhand run BENCHMARK --model examples/mobilenet_litert.py:Classifier
    MOBILENETS=folder evenhand run BENCHMARK --model examples/mobilenet_litert.py:Encoder

The folder holds the files named below; ``files`` makes their bytes part of the model's identity.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

FOLDER = Path(os.environ.get("MOBILENETS", "../shared/assets/models"))
