"""The recorded hub with a repository for each layout, and the client of this process turned to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.hub.layouts import LAYOUTS, lay_out
from tests.models.hub.server import Hub, serving
from tests.models.tiny import build

CLIP = "openai/clip-vit-base-patch32"


@pytest.fixture(scope="package")
def shelf(tmp_path_factory) -> Path:
    """A folder for each repository, and the conversions that a bot proposed for two of them."""
    pytest.importorskip("transformers")
    pytest.importorskip("huggingface_hub")
    folder = tmp_path_factory.mktemp("hub")
    for name in LAYOUTS:
        lay_out(name, folder / name)
    for name in ("converted", "converted-before-a-change"):
        shutil.copytree(folder / name, folder / f"{name}-pr")
        shutil.copy(build("clip") / "model.safetensors", folder / f"{name}-pr")
    tokens = folder / "converted-before-a-change" / "tokenizer_config.json"
    tokens.write_text(tokens.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="package")
def recorded(shelf: Path) -> Iterator[Hub]:
    """The server."""
    conversions = {
        f"org/{name}": {5: shelf / f"{name}-pr"} for name in ("converted", "converted-before-a-change")
    }
    folders = {f"org/{name}": shelf / name for name in LAYOUTS}
    folders[CLIP] = shelf / "first-published"
    hub = Hub(
        folders,
        gated={"org/gated": 401, "org/gated-logged-in": 403},
        conversions=conversions,
        renamed={"org/old": "org/both"},
    )
    with serving(hub):
        yield hub


@pytest.fixture
def hub(recorded: Hub, tmp_path: Path, monkeypatch) -> Hub:
    """The server with an empty log, a client that knows no other, and a cache of the test's own."""
    from huggingface_hub import constants

    recorded.log.clear()
    recorded.fetched.clear()
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "ENDPOINT", recorded.url)
    template = recorded.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    return recorded
