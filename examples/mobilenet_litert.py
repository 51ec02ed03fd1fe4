"""Quantised MobileNets in TensorFlow Lite files, through ai-edge-litert: a class of your own in 15 lines.

    pip install ai-edge-litert
    MOBILENETS=FOLDER evenhand run BENCHMARK --model examples/mobilenet_litert.py:MobileNet

The folder (``models`` if not given) holds the three files named below.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

from evenhand.core.capabilities import Floats, Pixels

FOLDER = Path(os.environ.get("MOBILENETS", "models"))
NAMES = (
    "mobilenet_v2_1.0_224_quant.tflite",
    "mobilenet_v1_1.0_224_quant_embedding_extractor.tflite",
    "imagenet_labels.txt",
)


class MobileNet:
    """A logit for each of 1,001 labels (MobileNet v2), and a vector of 1,024 numbers (MobileNet v1)."""

    files = tuple(FOLDER / name for name in NAMES)  # their bytes are the model's identity
    labels = tuple(line.strip() for line in files[2].read_text().splitlines())  # numbered

    def prepare(self, image: Pixels) -> Pixels:
        """224 x 224 pixels, uint8 RGB, shape (224, 224, 3)."""
        return np.asarray(Image.fromarray(image).resize((224, 224), Image.Resampling.BILINEAR))

    def classify(self, images: Sequence[Pixels]) -> Floats:
        """Logits, float32, shape (N, 1001); the network gives probabilities in steps of 1/256."""
        return np.log(np.maximum(run(self.files[0], images), 1 / 512))

    def embed_images(self, images: Sequence[Pixels]) -> Floats:
        """Vectors, float32, shape (N, 1024), at least 0."""
        return run(self.files[1], images)


def run(file: Path, images: Sequence[Pixels]) -> Floats:
    """The only output of a network, made real numbers, float32, shape (N, D)."""
    network = Interpreter(str(file))
    network.allocate_tensors()
    (into,), (out,) = network.get_input_details(), network.get_output_details()
    step, zero = out["quantization"]
    answers = []
    for image in images:
        network.set_tensor(into["index"], image[None])
        network.invoke()
        answers.append((network.get_tensor(out["index"]).ravel().astype(np.float32) - zero) * step)
    return np.asarray(answers, np.float32)
