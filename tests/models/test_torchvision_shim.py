"""The hook that lets torchvision be imported beside CPU torch, in this process and in others."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.conftest import ROOT

DRIVER = ROOT / "tests" / "third_party" / "driver.py"
needs_torchvision = pytest.mark.skipif(find_spec("torchvision") is None, reason="needs torchvision")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


@needs_torchvision
def test_torchvision_can_be_imported_in_this_process():
    import torchvision

    assert torchvision.ops.nms is not None


@pytest.mark.nightly  # no user has the hook; by day this process has it
@needs_torchvision
def test_a_subprocess_leaves_torch_unloaded_until_it_imports_torchvision():
    looked = "import sys; from importlib.util import find_spec; find_spec('torchvision')"
    load = "from torchvision.transforms import Resize; from PIL import Image"
    size = "Resize(8)(Image.new('RGB', (18, 9))).size"
    assert run(f"{looked}; print('torch' in sys.modules); {load}; print({size})") == ["False", "(16,", "8)"]


def test_the_hook_is_there_once():
    count = "sum(type(f).__name__ == '_TorchvisionFinder' for f in sys.meta_path)"
    assert run(f"import sys, sitecustomize; sitecustomize.install(); print({count})") == ["1"]
    assert sum(type(finder).__name__ == "_TorchvisionFinder" for finder in sys.meta_path) == 1


@pytest.fixture(scope="module")
def misfit(tmp_path_factory):
    """An environment without the shim, in which torchvision cannot be imported."""
    pytest.importorskip("torchvision")
    (finder,) = (finder for finder in sys.meta_path if type(finder).__name__ == "_TorchvisionFinder")
    if not sys.modules[type(finder).__module__]._KEPT:
        pytest.skip("torchvision fits torch here")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return env | {"EVENHAND_HOME": str(tmp_path_factory.mktemp("home"))}


def test_without_the_shim_a_misfit_is_one_line(misfit):
    """A torchvision built for another torch breaks both libraries on import; the user is told."""
    uris = ("timm:resnet18", "openclip:ViT-B-32/openai")
    typed = json.dumps([["run", "classification", "--model", uri] for uri in uris])
    done = subprocess.run(
        [sys.executable, DRIVER, typed], env=misfit, capture_output=True, text=True, check=True
    )
    for uri, (code, said) in zip(uris, json.loads(done.stdout.splitlines()[-1]), strict=True):
        assert (code, said.count("\n")) == (2, 1), uri
        assert "torchvision does not fit this torch" in said
