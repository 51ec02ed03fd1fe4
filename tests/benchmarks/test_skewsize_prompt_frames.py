"""A model that says what a picture was asked for is right in every group, whatever the prompts say around."""

import pytest

from tests.benchmarks.indicator_models import Answers
from tests.benchmarks.skewsize_layouts import ask, generated

STYLES = """
name: styles
class_axis: object
attribute: style
classes: [goldfish, {name: teapot, text: tea pot}, umbrella]
groups:
  - {name: plain, template: "a photo of a(n) {class}"}
  - {name: oil painting, template: "a(n) oil painting of a(n) {class}"}
  - {name: person and a, template: "a photo of a person and a(n) {class}"}
  - {name: as a toy, template: "a(n) {class} as seen by a child"}
images_per_cell: 4
question: "What object is in this picture?"
"""


def test_prompts_said_back_are_right_in_every_group(tmp_path):
    table = generated(tmp_path / "images", per_cell=4, definition=STYLES)
    forms = ("{}", "{}.", "The image shows {}.", "It is {}")
    said = [forms[place].format(text) for place, text in table.select("index", "prompt").iter_rows()]
    run = ask("backgrounds", Answers(said), tmp_path / "images")
    assert run.finding("accuracy", "style").value == 1
    assert run.finding("worst_group_accuracy", "style").value == 1
    skewsize = run.finding("skewsize", "style")
    assert all(part.value is None for part in skewsize.parts)  # one label each: nothing to tell apart
    raw = next(one for one in run.findings.findings if one.metric == "accuracy(by=style, answers=raw)")
    assert raw.value == pytest.approx(0)
    frames = dict(run.tables["answers"].select("raw", "frame").iter_rows())
    assert frames["an oil painting of a goldfish"] == "a goldfish"
