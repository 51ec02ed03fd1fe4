"""The first lines of every demo run, in every medium, compared with its findings by a program."""

from __future__ import annotations

import pytest

from evenhand.workflows.outputs.result import Run
from tests.gallery.demo import WITH_PAGES
from tests.report.printed_media import checked, printed_by

pytestmark = pytest.mark.slow


def test_first_lines_of_every_kind_of_run_are_borne_out(demo_folder, tmp_path):
    runs = [Run.read(path.parent) for path in sorted((demo_folder / "runs").glob("*/findings.json"))]
    assert len(runs) > 30
    for run in runs:
        assert checked(run) == []
        assert run.overview.headlines


@pytest.mark.parametrize("name", sorted(WITH_PAGES))
def test_every_medium_says_the_same(demo_folder, tmp_path, name):
    run = Run.read(demo_folder / "runs" / name)
    assert checked(run, **printed_by(run, tmp_path)) == []
