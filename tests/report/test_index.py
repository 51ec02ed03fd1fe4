"""One page over many runs: ``evenhand view DIR``."""

import html
import json

import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.core.errors import InputError
from evenhand.runs.run_folder import dump_cards
from evenhand.workflows.outputs.index import run_folders, write_index

HOSTILE = "<script>alert(1)</script>"


def a_run(hits, group="Lagos"):
    """Three groups of 100 rows; in the first, some of a class are called another."""
    rows = [(name, "a", "b" if name == group and i < hits else "a") for name in (group, "Munich", "Osaka")
            for i in range(100)]  # fmt: skip
    rows += [(name, "b", "b" if i else "a") for name in (group, "Munich", "Osaka") for i in range(50)]
    frame = pl.DataFrame(rows, schema=["office", "truth", "prediction"], orient="row")
    metrics = ["disparities", "accuracy_gap"]
    return eh.audit(frame, truth="truth", prediction="prediction", by="office", metrics=metrics)


def write(run, folder, created, **manifest):
    folder.mkdir(parents=True)
    (folder / "findings.json").write_bytes(run.findings.dump())
    (folder / "metrics.json").write_bytes(dump_cards(run.findings))
    (folder / "manifest.json").write_text(json.dumps({**run.manifest, "created": created, **manifest}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    for month, hits in enumerate((30, 20, 0), start=1):
        write(a_run(hits), root / "monthly" / f"run{month}", f"2026-0{month}-01T00:00:00+00:00",
              tags={"lineage": "intents"})  # fmt: skip
    write(a_run(30, HOSTILE), root / HOSTILE.replace("/", "_"), "2026-09-01T00:00:00+00:00", noun="tickets")
    (root / "monthly" / "run1" / "report.html").write_text("the report")
    for name, content in (("broken", "{"), (".hidden", "{")):
        (root / name).mkdir()
        (root / name / "findings.json").write_text(content)
    return root


def page_of(folder, *options):
    result = CliRunner().invoke(app, ["view", str(folder), *options])
    assert result.exit_code == 0, result.output
    return result


def test_every_run_stands_with_its_headline(folder):
    page_of(folder)
    page = (folder / "index.html").read_text()
    text = html.unescape(page)
    assert "Lagos: 30 of 100 a rows are called b; elsewhere 0 of 200." in text
    assert "Lagos: 20 of 100 a rows are called b; elsewhere 0 of 200." in text
    assert "Nothing differs by office beyond chance." in text
    assert page.index("1 September 2026") < page.index("1 March 2026") < page.index("1 January 2026")
    assert 'href="monthly/run1/report.html"' in page
    assert page.count("report.html") == 1  # others have none
    assert "4 runs, the newest first; 1 cannot be read." in text
    assert "broken" in text
    assert ".hidden:" not in text


def test_runs_of_one_question_are_drawn_over_time(folder):
    page_of(folder)
    page = (folder / "index.html").read_text()
    assert page.count("<polyline") == 3  # nothing says of which model the fourth run is
    assert "Accuracy gap: 0.133 at first, 0.089 here" in page


def test_texts_of_users_stay_texts(folder):
    page_of(folder)
    page = (folder / "index.html").read_text()
    assert HOSTILE not in page
    assert html.escape(HOSTILE) in page
    assert page.count("<script>") == 1
    assert "default-src 'none'" in page


def test_another_file_links_to_the_same_reports(folder, tmp_path):
    page_of(folder, "-o", str(tmp_path / "all.html"))
    page = (tmp_path / "all.html").read_text()
    address = page.partition('href="../')[2].partition('"')[0]
    assert (tmp_path / ".." / address).resolve() == (folder / "monthly" / "run1" / "report.html").resolve()


def test_what_cannot_be_shown_says_what_to_type(tmp_path):
    for path, words in ((tmp_path / "none", "is no folder"), (tmp_path, "holds no run")):
        with pytest.raises(InputError, match=words):
            write_index(path)


def test_nothing_inside_a_run_is_another_run(tmp_path):
    write(a_run(5), tmp_path / "outer", "2026-01-01")
    write(a_run(5), tmp_path / "outer" / "inner", "2026-01-01")
    assert run_folders(tmp_path) == [tmp_path / "outer"]
