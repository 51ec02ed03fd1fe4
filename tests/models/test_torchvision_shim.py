"""The hook that lets torchvision be imported beside CPU torch, in this process and in others."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

needs_torchvision = pytest.mark.skipif(find_spec("torchvision") is None, reason="needs torchvision")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


@needs_torchvision
def test_torchvision_can_be_imported_in_a_subprocess():
    load = "from torchvision.transforms import Resize; from PIL import Image"
    assert run(f"{load}; print(Resize(8)(Image.new('RGB', (18, 9))).size)") == ["(16,", "8)"]


@needs_torchvision
def test_torchvision_can_be_imported_in_this_process():
    import torchvision

    assert torchvision.ops.nms is not None


def test_torch_stays_unloaded_until_torchvision_is_imported():
    looked = "import sys; from importlib.util import find_spec; find_spec('torchvision')"
    assert run(f"{looked}; print('torch' in sys.modules)") == ["False"]


def test_the_hook_is_there_once():
    count = "sum(type(f).__name__ == '_TorchvisionFinder' for f in sys.meta_path)"
    assert run(f"import sys, sitecustomize; sitecustomize.install(); print({count})") == ["1"]
    assert sum(type(finder).__name__ == "_TorchvisionFinder" for finder in sys.meta_path) == 1


@pytest.fixture(scope="module")
def misfit(tmp_path_factory):
    """An environment without the shim, in which torchvision cannot be imported."""
    code = "import torch, torchvision"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["EVENHAND_HOME"] = str(tmp_path_factory.mktemp("home"))
    tried = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    if tried.returncode == 0:
        pytest.skip("torchvision fits torch here")
    return env


@pytest.mark.parametrize("uri", ["timm:resnet18", "openclip:ViT-B-32/openai"])
def test_without_the_shim_a_misfit_is_one_line(uri, misfit):
    """A torchvision built for another torch breaks both libraries on import; the user is told."""
    words = [sys.executable, "-m", "evenhand.cli.main", "run", "classification", "--model", uri]
    done = subprocess.run(words, env=misfit, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "torchvision does not fit this torch" in done.stderr
