"""Figures and tables as the papers draw them: scales, colours, printed values, counts, terminals."""

from __future__ import annotations

import json

import polars as pl
import pytest

from evenhand.cli.summaries.artifacts import print_artifact
from evenhand.core.figure import Figure
from evenhand.report.figures import style
from evenhand.report.figures.draw import compose
from evenhand.report.figures.table import sheet
from evenhand.workflows.outputs.artifact import MadeArtifact
from tests.cli.test_audit import type_in


def specs(node: object, key: str) -> list[object]:
    """Every value of a key in a specification."""
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    found = [node[key]] if isinstance(node, dict) and key in node else []
    return found + [value for part in inner for value in specs(part, key)]


def test_what_is_called_a_colour_has_it_and_bands_are_shades_of_one_hue() -> None:
    red, green, other = style.colours_of(["red", "Green", "heart"])
    assert (red, green) == (style.colours_of(["red"])[0], style.colours_of(["green"])[0])
    assert len({red, green, other}) == 3
    assert green == "#009e73"
    bands = style.colours_of(["negligible", "small", "medium", "large", "undefined"])
    assert bands[:4] == style.ramp(False)[1:]
    assert style.colours_of(["a", "b"]) == style.colours(2)
    assert len(style.colours_of([str(n) for n in range(40)])) == 40


def test_harmful_rates_have_a_scale_of_their_own_and_no_share_lies_above_all() -> None:
    rows = [("ours", "m", "harmful", "g", 0.001), ("ours", "m", "coverage", "g", 1.0)]
    table = pl.DataFrame(rows, schema=["source", "model", "measure", "group", "value"], orient="row")
    figure = Figure(
        "dots", x="value", y="group", facet="measure", independent=("x",), formats={"value": "percent"}
    )
    domains = [tuple(domain) for domain in specs(compose((figure,), table, "t", ()), "domain")]
    ends = {domain for domain in domains if len(domain) == 2 and all(isinstance(v, float) for v in domain)}
    assert any(high < 0.01 for _, high in ends)
    assert all(0 <= low < high <= 1 for low, high in ends)


@pytest.mark.parametrize("printed", [False, True])
def test_bars_have_their_values_written_where_a_figure_asks_for_it(printed) -> None:
    table = pl.DataFrame({"source": ["ours"] * 2, "word": ["kind", "cruel"], "value": [0.25, 0.125]})
    figure = Figure("bars", x="value", y="word", printed=printed)
    text = json.dumps(compose((figure,), table, "t", ()))
    assert ('"text": {"field": "x_text"}' in text) is printed
    assert all(f'"x_text": "{number}"' in text for number in ("0.250", "0.125"))


def test_counts_are_whole_numbers_and_a_terminal_shows_what_fits(capsys) -> None:
    wide = {f"cramers_v_{number}": [0.5, None] for number in range(12)}
    table = pl.DataFrame({"source": ["ours", "paper"], "model": ["a", "b"], "n": [1200.0, None], **wide})
    figure = Figure("table", levels=("model", "n", *wide), titles={"cramers_v_0": "V, mean"})
    assert [row[1] for row in sheet(figure, table).cells] == ["1,200", "–"]
    print_artifact(MadeArtifact("x/table1", "What it shows", table, ("A note.",), (figure,)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "What it shows"
    assert lines[1].split()[:4] == ["model", "n", "V,", "mean"]
    assert any(line.startswith("4 columns more with -o FILE.html: ") for line in lines)
    assert lines[-1] == "A note."


def test_artifacts_are_listed_with_their_titles(monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "ls", "artifacts") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split(maxsplit=1)[0] == "mmbias/table3" and "mitigation" in line for line in lines)
    assert all(len(line.split()) > 2 for line in lines)
