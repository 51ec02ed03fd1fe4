"""Markdown, model cards, SARIF and JUnit say the sentences of the run's first lines."""

import json
from xml.etree import ElementTree

import polars as pl
import pytest

import evenhand as eh
from evenhand.report.exports.exported import RunView, markdown
from evenhand.report.exports.junit import junit
from evenhand.report.exports.model_card import model_card
from evenhand.report.exports.sarif import sarif
from evenhand.report.exports.summary import summary


def view(hits, group="Lagos"):
    """100 rows of a class in each of three groups; in the first, some are called another class."""
    rows = [(name, "a", "b" if name == group and i < hits else "a") for name in (group, "Munich", "Osaka")
            for i in range(100)]  # fmt: skip
    frame = pl.DataFrame([*rows, (group, "b", "b")], schema=["g", "truth", "prediction"], orient="row")
    metrics = ["disparities", "accuracy_gap"]
    run = eh.audit(frame, truth="truth", prediction="prediction", by="g", metrics=metrics, noun="tickets")
    return RunView("run", run.findings, run.manifest)


HEADLINE = "Lagos: 30 of 100 a tickets are called b; elsewhere 0 of 200."


def test_every_text_begins_with_the_headline():
    run = view(30)
    assert run.overview.title == HEADLINE
    assert f"**{markdown(HEADLINE)}**" in summary([run]).decode()
    assert f"**{markdown(HEADLINE)}**" in model_card([run]).decode()
    messages = {
        result["ruleId"]: result["message"]["text"]
        for result in json.loads(sarif([run]))["runs"][0]["results"]
    }
    assert messages["disparities"].startswith(HEADLINE)
    assert HEADLINE not in messages["accuracy_gap"]
    (out,) = ElementTree.fromstring(junit([run])).iter("system-out")  # noqa: S314 - made here
    assert out.text.splitlines()[0] == HEADLINE


def test_nothing_beyond_chance_is_said_as_such():
    run = view(1)
    assert "**Nothing differs by g beyond chance" in summary([run]).decode()
    (out,) = ElementTree.fromstring(junit([run])).iter("system-out")  # noqa: S314 - made here
    assert out.text.startswith("Nothing differs by g beyond chance.")


@pytest.mark.parametrize("name", ["<img src=x>", "[x](javascript:alert(1))", "\x00]]>", "{0}"])
def test_names_of_groups_stay_names(name):
    run = view(30, name)
    assert markdown(run.overview.title) in summary([run]).decode()
    assert "<img" not in summary([run]).decode()
    assert ElementTree.fromstring(junit([run])) is not None  # noqa: S314 - made here
    text = next(
        result["message"]["text"]
        for result in json.loads(sarif([run]))["runs"][0]["results"]
        if result["ruleId"] == "disparities"
    )
    assert "[x](" not in text
    assert "{0}" not in text.replace("{{0}}", "")
