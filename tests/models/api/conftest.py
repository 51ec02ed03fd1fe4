"""A server process around a tiny model, models that ask it, and the same model in this process."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from functools import cache
from urllib.request import Request, urlopen

import numpy as np
import pytest

from evenhand.models.resolve import resolve
from tests.conftest import ROOT
from tests.models.api.virtual_time import Clock
from tests.models.tiny import build

PROMPTS = [
    "what color is this ?",
    "who is this ?",
    "describe the image",
    "is the doctor happy ?",
    "yes or no ?",
]


class Served:
    """A server process and what the tests ask of it beside completions."""

    def __init__(self, folder=None):
        command = [sys.executable, "-m", "tests.models.api_server", *([str(folder)] if folder else [])]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.strip().isdigit(), "the server did not start"
        self.root = f"http://127.0.0.1:{line.strip()}"
        self.url = f"{self.root}/v1"

    def log(self):
        with urlopen(f"{self.root}/admin/log") as page:  # noqa: S310
            return json.load(page)

    def held(self):
        """How many requests are kept waiting on purpose."""
        return self.log()["held"] if self.process.poll() is None else 0

    def post(self, path, content):
        urlopen(Request(self.root + path, json.dumps(content).encode(), method="POST")).close()  # noqa: S310

    def break_with(self, kind, times=1, match="", retry_after=None):
        self.post(
            "/admin/faults", [{"kind": kind, "times": times, "match": match, "retry_after": retry_after}]
        )

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@cache
def served():
    """One server with a model for all tests of a process: it takes seconds to import transformers."""
    server = Served(build("llava"))
    atexit.register(server.end)
    return server


@pytest.fixture
def server():
    served().post("/admin/clear", {})
    return served()


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("EVENHAND_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock(server, monkeypatch):
    """The time of clients of the server."""
    pytest.importorskip("openai")
    with Clock(server).installed(monkeypatch) as governing:
        yield governing


@pytest.fixture
def load(server, clock):
    """Models at the server, closed afterwards: ``load(retries=1)``."""
    loaded = []

    def load_model(name="tiny", url=server.url, **options):
        query = "&".join(f"{key}={value}" for key, value in ({"max_tokens": 8} | options).items())
        loaded.append(resolve(f"api:{name}@{url}?{query}").load())
        return loaded[-1]

    yield load_model
    for model in loaded:
        model.close()


class Direct:
    """The same model in this process, asked through transformers."""

    def __init__(self, folder):
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder).eval()

    def inputs(self, image, text):
        from PIL import Image

        images = None if image is None else [Image.fromarray(image)]
        inputs = dict(self.processor(images=images, text=text, return_tensors="pt"))
        inputs.pop("token_type_ids", None)
        return inputs

    def answer(self, image, prompt):
        inputs = self.inputs(image, f"<|user|>{'' if image is None else '<image>'} {prompt}<|assistant|>")
        made = self.model.generate(**inputs, max_new_tokens=8, do_sample=False)[0]
        return self.processor.tokenizer.decode(made[inputs["input_ids"].shape[1] :], skip_special_tokens=True)

    def logprobs(self, image, text):
        """Log-softmax at each position, and the token ids."""
        import torch

        inputs = self.inputs(image, text)
        with torch.no_grad():
            told = torch.log_softmax(self.model(**inputs).logits[0].float(), -1)
        return told.numpy(), inputs["input_ids"][0].tolist()

    def words(self, logprobs):
        """The text of each token of the vocabulary, the likeliest first."""
        return [self.processor.tokenizer.decode([token]) for token in np.argsort(-logprobs)]


@pytest.fixture(scope="session")
def direct(tiny):
    return Direct(tiny("llava"))


def ask(model, pictures, prompts=PROMPTS):
    return model.answer([model.prepare(picture) for picture in pictures], prompts)
