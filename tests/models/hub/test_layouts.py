"""Repositories of the recorded hub load, or are refused in one line; each file is fetched once."""

from __future__ import annotations

import logging
from collections import Counter

import numpy as np
import pytest

from evenhand.core.errors import UserError
from evenhand.models.resolve import resolve
from tests.models.conftest import TEXTS
from tests.models.hub.layouts import LAYOUTS, NOT_READ
from tests.models.hub.server import COMMIT
from tests.models.tiny import build

REFUSED = {
    "own-code": "runs code of its own .*--trust-remote-code",
    "gated-logged-in": r"'org/gated-logged-in' is gated: accept its terms .* hf auth login$",
    "gated": r"'org/gated' is gated: accept its terms .* hf auth login$",
    "object": r"pytorch_model\.bin' holds an object of pathlib\.\w+, which could run code",
}
LOADED = {  # what comes over the network beside what describes the model
    "parts": {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"},
    "bin": {"pytorch_model.bin"},
    "bin-parts": {"pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"},
    "first-published": {"pytorch_model.bin"},
    "converted-before-a-change": {"pytorch_model.bin"},
}


@pytest.fixture(scope="module")
def expected(pictures):
    """Vectors of the same tiny models from a folder that transformers saved."""
    return {name: answers(resolve(f"hf:{build(name)}").load(), pictures) for name in ("clip", "llava")}


def answers(model, pictures):
    if hasattr(model, "embed_images"):
        prepared = [model.prepare(picture) for picture in pictures]
        return np.concatenate([model.embed_images(prepared), model.embed_texts(TEXTS)])
    return model.score_continuations(pictures[:1], ["the"], [[" doctor", " nurse"]])


def names_of(hub):
    return [path.rpartition("/")[2] for path in hub.fetched]


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name not in REFUSED])
def test_it_loads_and_answers_as_the_same_model_elsewhere(name, hub, expected, pictures, caplog):
    caplog.set_level(logging.INFO, "evenhand")
    source = resolve(f"hf:org/{name}")
    np.testing.assert_array_equal(answers(source.load(), pictures), expected[LAYOUTS[name][0]])
    fetched = names_of(hub)
    assert max(Counter(fetched).values()) == 1, "each file once"
    weights = {file for file in fetched if file.endswith((".bin", ".safetensors"))}
    assert weights == LOADED.get(name, {"model.safetensors"})
    assert not set(fetched) & set(NOT_READ)
    identity = source.identity()
    assert len(identity["revision"]) == 40
    assert (identity["revision"] == COMMIT) == (name != "converted")
    assert identity.get("converted from") == (COMMIT if name == "converted" else None)
    sent = sum(
        sent for method, path, _, sent in hub.log if method == "GET" and not path.startswith("/api/models")
    )
    fetching, loading = caplog.messages
    assert fetching.startswith(
        f"fetched {sent / 1000:,.1f} kB of org/{name} in {len(fetched)} files; they are in "
    )
    assert loading.startswith(f"loading hf:org/{name}: ")
    assert " numbers in float32 need " in loading


@pytest.mark.parametrize(("name", "message"), REFUSED.items())
def test_it_is_refused_in_one_line(name, message, hub):
    with pytest.raises(UserError, match=message) as refused:
        resolve(f"hf:org/{name}").load()
    assert "\n" not in str(refused.value)


def test_what_was_fetched_is_fetched_no_more_and_needs_no_network(hub, monkeypatch):
    from huggingface_hub import constants

    first = resolve("hf:org/converted").identity()
    hub.log.clear()
    assert resolve("hf:org/converted").identity() == first
    assert [entry for entry in hub.log if entry[0] == "GET" and not entry[1].startswith("/api/models")] == []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.log.clear()
    assert resolve("hf:org/converted").identity() == first
    assert resolve(f"hf:org/converted@{COMMIT}").identity() == first
    assert hub.log == []


def test_a_conversion_by_anybody_else_is_not_taken(hub, monkeypatch):
    monkeypatch.setattr(hub, "author", "somebody")
    assert resolve("hf:org/converted").identity()["revision"] == COMMIT
    assert "pytorch_model.bin" in names_of(hub)
    revision = resolve("hf:org/converted@refs/pr/5").identity()["revision"]
    assert revision != COMMIT, "unless it is named"


def test_a_transfer_that_breaks_off_goes_on_where_it_was(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    hub.cut.add("model.safetensors")
    resolve("hf:org/old").identity()  # under its former name
    sent = [
        (status, n_bytes)
        for _, path, status, n_bytes in hub.log
        if path.endswith("model.safetensors") and n_bytes
    ]
    size = (build("clip") / "model.safetensors").stat().st_size
    assert [status for status, _ in sent] == [200, 206]
    assert size <= sum(n_bytes for _, n_bytes in sent) < size + 1000


def test_a_hub_that_is_busy_is_waited_for_or_says_so_in_one_line(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    hub.busy["pytorch_model.bin"] = 1
    resolve("hf:org/bin").identity()
    assert 429 in [status for _, _, status, _ in hub.log]
    hub.busy["api/models/org/both/revision/main"] = hub.busy["api/models/org/both"] = 99
    with pytest.raises(
        UserError, match=r"'org/both': the hub has had too many requests from here; wait 0 s, or"
    ):
        resolve("hf:org/both").identity()
    hub.busy.clear()
