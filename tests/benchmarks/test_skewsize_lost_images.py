"""Images that were asked for and are not there: a run counts them as it counts every lost sample."""

from __future__ import annotations

import pytest

from evenhand.core.errors import InputError
from evenhand.workflows.generate.engine import generate
from tests.benchmarks.skewsize_layouts import ask, dropped, generated
from tests.runner.generation import arrange, mode


class Nurse:
    """Says one word of every image."""

    version = "1"

    def answer(self, images, prompts):
        return ["nurse"] * len(prompts)


def run_of(folder):
    return ask("occupations", Nurse(), folder)


def test_refused_images_are_dropped_samples_of_their_group(tmp_path):
    definition, painter = arrange(tmp_path)
    mode(tmp_path, "refuse")
    made = generate(definition, painter, tmp_path / "images")
    run = run_of(tmp_path / "images")
    told = {"image refused for group woman (against the rules)": 4}
    assert dropped(run) == told
    assert told.items() <= dropped(run, "skewsize").items()
    assert run.counts["predictions"].n_total + 4 == made.wanted


def test_a_group_that_is_refused_altogether_is_told(tmp_path):
    definition, painter = arrange(tmp_path)
    definition.write_text(definition.read_text().replace("[woman, man]", "[woman, man, person]"))
    path = tmp_path / "painter.py"
    path.write_text(path.read_text().replace("woman who is a nurse", "a woman"))
    mode(tmp_path, "refuse")
    generate(definition, painter, tmp_path / "images")
    run = run_of(tmp_path / "images")
    assert dropped(run) == {"image refused for group woman (against the rules)": 12}
    assert [one.key for one in run.finding("accuracy", "gender").groups] == ["man", "person"]


def test_images_that_failed_or_were_left_for_later_are_told(tmp_path):
    definition, painter = arrange(tmp_path)
    mode(tmp_path, "busy")
    generate(definition, painter, tmp_path / "images")
    run = run_of(tmp_path / "images")
    assert dropped(run) == {"image not made for group woman": 4, "image not made for group man": 4}
    mode(tmp_path, "")
    generate(definition, painter, tmp_path / "images")
    assert dropped(run_of(tmp_path / "images")) == {}


def test_a_manifest_that_is_none_is_told(tmp_path):
    generated(tmp_path)
    (tmp_path / "manifest.json").write_text('{"refused": [{"group": "female"}]}')
    with pytest.raises(InputError, match="is not as evenhand wrote it"):
        run_of(tmp_path)
