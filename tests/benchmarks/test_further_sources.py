"""``evenhand data check`` counts further data as their benchmarks would ask about them."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from evenhand.cli.commands.data import data_app
from evenhand.core.errors import InputError
from tests.benchmarks import further_layouts as layouts

WRITERS = {
    "geode": (layouts.geode, 72, "region EastAsia"),
    "facet": (layouts.facet, 60, "skin_tone darker"),
    "social_counterfactuals": (layouts.counterfactuals, 1, "race Middle Eastern"),
}
IMAGES = {"geode": 72, "facet": 60, "social_counterfactuals": 48}


@pytest.mark.parametrize("name", WRITERS)
def test_samples_and_groups_are_counted(name, tmp_path) -> None:
    write, count, group = WRITERS[name]
    printed = CliRunner().invoke(data_app, ["check", name, "--data", str(write(tmp_path, count))]).output
    lines = {" ".join(line.split()[:-1]): line.split()[-1] for line in printed.splitlines() if line.split()}
    assert any(line.split()[:2] == ["samples", str(IMAGES[name])] for line in printed.splitlines())
    assert int(lines[group]) > 0


def test_an_empty_folder_says_what_should_lie_there(tmp_path) -> None:
    for name in WRITERS:
        result = CliRunner().invoke(data_app, ["check", name, "--data", str(tmp_path)])
        assert isinstance(result.exception, InputError)
