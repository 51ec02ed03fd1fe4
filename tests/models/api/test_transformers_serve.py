"""The ``api:`` adapter against ``transformers serve``, which somebody else wrote."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from urllib.request import urlopen

import pytest

from evenhand.core.errors import UserError
from tests.models.api.conftest import PROMPTS


@pytest.fixture
def transformers_serve(tiny):
    """``transformers serve`` with the same model, on a port that was free a moment ago."""
    for library in ("fastapi", "uvicorn", "accelerate"):
        if not find_spec(library):
            pytest.skip(f"transformers serve needs {library}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve"]
    command += [str(tiny("llava")), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(1_500):
        time.sleep(0.2)
        try:
            urlopen(f"http://127.0.0.1:{port}/health").close()
            break
        except OSError:
            assert process.poll() is None, "transformers serve ended"
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


@pytest.mark.nightly  # by day a server of ours answers as transformers does: test_answers, test_scores
def test_transformers_serve(transformers_serve, tiny, load, direct):
    model = load(str(tiny("llava")), url=transformers_serve)
    assert model.answer([None] * 5, PROMPTS) == [direct.answer(None, prompt) for prompt in PROMPTS]
    assert model.usage()["completion_tokens"] > 0
    with pytest.raises(UserError, match="gives no log-probabilities"):
        model.score_continuations([None], ["the"], [[" dog"]])
