"""docs/models.md: every model of the papers has a row, and every name of timm and open_clip in it exists."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

TEXT = (ROOT / "docs" / "models.md").read_text()
ROWS = TEXT.partition("## The models of the four papers")[2]
NAMED = [
    "CLIP", "OpenCLIP 400M", "OpenCLIP 2B", "ALIGN", "FLAVA", "GroupViT", "SLIP", "DeCLIP", "FILIP",
    "OPT 2.7B", "OPT 6.7B", "Flan-T5-XL", "GIT", "ALBEF", "ViLT", "SEER", "SwAV", "WSL",
    "ResNet-50, supervised",
    "RegNetY-16, supervised", "RegNetY-128, supervised", "BiT", "ViT-B/16", "GoogLeNet", "Inception v3",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_every_model_of_the_papers_has_a_row(name):
    assert [row for row in ROWS.splitlines() if row.startswith("| ") and name in row.split(" | ")[0]]


def test_names_of_timm_exist_and_have_weights_on_the_hub():
    timm = pytest.importorskip("timm")
    names = set(re.findall(r"`timm:([a-z0-9_]+\.[a-z0-9_]+)`", ROWS))
    assert len(names) > 12
    for name in names:
        assert timm.get_pretrained_cfg(name).hf_hub_id == f"timm/{name}"


def test_tags_of_open_clip_exist_and_have_weights_on_the_hub():
    open_clip = pytest.importorskip("open_clip")
    names = re.findall(r"`openclip:([\w-]+)/(\w+)`", ROWS)
    assert len(names) == 3
    for architecture, tag in names:
        assert open_clip.get_pretrained_cfg(architecture, tag)["hf_hub"]


def test_the_class_in_the_text_is_the_example():
    printed = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    example = (ROOT / "examples" / "own_model.py").read_text()
    without = re.sub(r"def classify\(.*", "def classify(self, images):", example)
    assert printed.strip() in without
