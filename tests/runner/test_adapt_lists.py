"""A model is trained on the official lists of DomainNet, and then asked by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.core.errors import InputError
from tests.models.tiny import build

COLOURS = {"axe": (200, 40, 40), "bee": (40, 40, 200)}


def lists(folder: Path, split: str, each: int) -> None:
    """Coloured images of two classes in two domains, as DomainNet is split."""
    rng = np.random.default_rng(each)
    for domain in ("clipart", "real"):
        lines = []
        for code, (name, colour) in enumerate(COLOURS.items()):
            for index in range(each):
                place = f"{domain}/{name}/{domain}_{split}_{index}.png"
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                pixels = np.clip(np.array(colour) + rng.normal(0, 20, (24, 24, 3)), 0, 255)
                Image.fromarray(pixels.astype(np.uint8)).save(folder / place)
                lines.append(f"{place} {code}")
        (folder / f"{domain}_{split}.txt").write_text("\n".join(lines) + "\n")


def test_lists_are_labelled_images(tmp_path):
    lists(tmp_path, "train", 3)
    read = read_samples(tmp_path / "*_train.txt", by=["folder", "list"])
    assert len(read) == 12
    assert sorted(read.annotations["truth"].value_counts().rows()) == [("axe", 6), ("bee", 6)]
    assert set(read.annotations["folder"]) == {"clipart", "real"}
    assert set(read.annotations["list"]) == {"clipart_train", "real_train"}
    (tmp_path / "real_train.txt").write_text("real/axe/1.png 0\nreal/axe/2.png 1\n")
    assert set(read_samples(tmp_path / "real_train.txt").annotations["truth"]) == {"0", "1"}
    (tmp_path / "prose.txt").write_text("no list\n")
    with pytest.raises(InputError, match="has no line such as"):
        read_samples(tmp_path / "prose.txt")


def test_a_resnet_is_trained_on_all_training_lists_and_asked_by_the_test_lists(tmp_path):
    lists(tmp_path / "domains", "train", 12)
    lists(tmp_path / "domains", "test", 5)
    made = eh.adapt(
        f"hf:{build('resnet')}",
        method="fine_tuning",
        train=tmp_path / "domains" / "*_train.txt",
        out=tmp_path / "resnet",
        parameters={"epochs": "2"},
    )
    assert made[0].card["training"]["images"] == 48
    assert {one["truth"] for one in made[0].card["classes"]} == {"axe", "bee"}
    run = eh.run("skewsize/domainnet", model=made[0].uri, data=tmp_path / "domains")
    assert run.counts["predictions"].n_total == 20
    assert set(run.counts["predictions"].axis("prediction").levels) <= {"axe", "bee"}
    assert run.finding("accuracy", "domain").value is not None
