"""Results show themselves in notebooks: small, escaped, without scripts."""

import subprocess
import sys
from html.parser import HTMLParser

import altair
import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.figure import Figure
from evenhand.display.charts import MOST_LINES
from evenhand.display.html import label, number
from evenhand.display.text.formatting import unbroken
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.evidence.similarities import Similarities
from evenhand.runs.run_folder import RunFolder as ReadRun
from evenhand.workflows.outputs.artifact import MadeArtifact
from evenhand.workflows.outputs.result import Run
from tests.conftest import make_frame
from tests.report.report_samples import HOSTILE, hostile, plain, realistic, thousand

EMPTY = altair.Chart(altair.InlineData(values=[])).mark_point()
PLAIN = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi"}
CELL = PLAIN | {
    "style", "h1", "span", "b", "code", "details", "summary", "svg", "line", "rect", "circle", "text",
}  # fmt: skip
DRAWN = {
    "class", "width", "height", "role", "aria-label", "aria-hidden", "x", "y", "x1", "x2", "y1", "y2", "cx",
    "cy", "r", "fill", "stroke", "stroke-width", "text-anchor",
}  # fmt: skip


class Tags(HTMLParser):
    """Every tag of a text, and whether each was closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        assert {name for name, _ in attributes} <= DRAWN
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(result, tags=PLAIN):
    text = result._repr_html_()
    read = Tags(text)
    assert read.tags <= tags
    assert read.open == []
    assert len(text) < 30_000
    return read.text


@pytest.mark.parametrize("make", [realistic, hostile, thousand], ids=lambda make: make.__name__)
def test_findings_show_themselves(make):
    content = make()
    assert "not the same as fair" in shown(content.findings)
    for finding in content.findings.findings[:4]:
        text = shown(finding)
        assert "n = " in text
        left = 1 + len(finding.parts) - 20  # the finding itself is the first row
        assert (f"{left:,} more rows" in text) == (left > 0)


def test_a_finding_without_a_value_says_why():
    finding = next(one for one in realistic().findings.findings if one.value is None)
    assert "not estimable: one_usable_class" in shown(finding)


def test_headings_hold_no_number_that_could_be_cut():
    given = {f"parameter{place}": 0.125 for place in range(12)}
    finding = plain("accuracy_gap", ("group",), 0.0104, "lower is fairer", params=given)
    assert len(finding.metric) > 200
    assert f"{finding.metric}Part" in shown(finding), "the heading is whole, and the table follows"


def test_a_finding_without_parts_has_a_row():
    text = shown(plain("accuracy_gap", ("group",), 0.0104, "lower is fairer", p_value=0.02, p_adjusted=0.04))
    assert "pAdjusted pRowsReason" in text
    assert "the whole0.010––0.0200.0404,790" in text


def test_a_run_in_memory_is_called_by_its_columns(run):
    assert "Run: prediction against truth, by group, group+other, 600 rows" in shown(run, CELL)
    assert "RunFinding" in shown(Run(run.findings, {}), CELL)


def test_a_cell_has_a_headline_its_picture_and_two_drawers(run):
    text, overview = run._repr_html_(), run.overview
    first, _, drawers = text.partition("<details>")
    assert first.count("<h1>") == 1
    assert f"<h1><bdi>{overview.title}</bdi></h1>" in first
    assert unbroken(overview.headlines[0].size) in first
    assert text.count("<details>") == 2
    assert first.count('role="img"') == len(overview.headlines[0].chart.marks)
    assert "run.cases(1)" in drawers
    assert "style=" not in text


def test_a_label_of_blanks_can_be_seen():
    assert label("  ") == "<bdi>␣␣</bdi>"
    assert label("a b") == "<bdi>a b</bdi>"
    assert number(-0.0001) == "0.000"


def test_hostile_labels_are_text():
    text = shown(hostile().findings.findings[0])
    assert "<script>alert(1)</script>" in text
    assert "\x00" not in text
    assert HOSTILE[-1] not in text  # 10,000 characters are cut


@pytest.mark.parametrize("kind", [ReadRun, Run])
def test_runs_show_their_findings(kind):
    content = hostile()
    text = shown(kind(content.findings, dict(content.manifest)), CELL)
    assert "Run: " in text
    assert "accuracy(by=" in text


def test_counts_show_their_cells():
    counts = Predictions.from_frame(make_frame(), truth="truth", prediction="prediction").count(["group"])
    text = shown(counts)
    assert "600 rows in 50 cells" in text
    assert "30 more rows" in text


def test_an_artifact_shows_its_table_and_gives_a_chart():
    table = pl.DataFrame({"group": ["<b>", "m"], "value": [0.25, None]})
    figure = Figure("bars", x="group", y="value")
    made = MadeArtifact("own/bars", "Bars <i>", table, ("a note",), (figure,))
    text = shown(made)
    assert "Bars <i>" in text
    assert "0.250" in text
    assert "–" in text
    chart = made.chart()
    assert isinstance(chart, altair.TopLevelMixin)
    drawn = chart.to_dict()
    assert {"data", "datasets"} & set(drawn)


def test_predictions_show_their_columns_and_no_row():
    frame = make_frame().rename({"truth": "<b>label</b>"}).lazy()
    text = shown(Predictions.from_frame(frame, truth="<b>label</b>", prediction="prediction"))
    assert "<b>label</b>Stringtruth" in text
    assert "predictionStringprediction" in text
    assert "c0" not in text


def test_similarities_show_their_sets():
    rng = np.random.default_rng(0)
    sets = Similarities.from_vectors(
        {"<i>": rng.normal(size=(3, 4)), "insects": np.zeros((2, 4))}, {"pleasant": rng.normal(size=(5, 4))}
    )
    text = shown(sets)
    assert "target<i>3" in text
    assert "attributepleasant5" in text
    assert "left out, vector of length 0: 2" in text


def rows_of(chart, validate=True):
    """Every row that a chart draws, panel by panel."""
    spec = chart.to_dict(validate=validate)
    panels = spec["vconcat"]
    data = [one["layer"][0].get("data") or one.get("data") or spec["data"] for one in panels]
    return [spec["datasets"][one["name"]] if "name" in one else one["values"] for one in data]


@pytest.fixture(scope="module")
def run():
    preds = Predictions.from_frame(make_frame(bias=0.6), truth="truth", prediction="prediction")
    return eh.audit(preds, by=["group", ("group", "other")], seed=1)


def test_a_finding_draws_itself_and_its_parts(run):
    finding = run.finding("skewsize", "group")
    own, parts = rows_of(finding.chart())
    assert [row["value"] for row in own] == [finding.value]
    drawn = {
        row["label"]: (row["value"], row["low"], row["high"], row["null_low"], row["n"]) for row in parts
    }
    assert drawn == {
        part.key: (part.value, part.interval.low, part.interval.high, part.null.low, part.n)
        for part in finding.parts
    }
    assert [row["value"] for row in parts] == sorted((part.value for part in finding.parts), reverse=True)


def test_a_run_draws_accuracy_by_group_and_every_finding(run):
    by_group = rows_of(run.chart("accuracy", "group+other"))[1]
    assert {row["label"] for row in by_group} == {f"g{a} × h{b}" for a in range(2) for b in range(3)}
    panels = rows_of(run.chart())
    values = sorted(row["value"] for rows in panels for row in rows)
    assert values == sorted(one.value for one in run.findings.findings if one.value is not None)
    with pytest.raises(eh.UserError, match="acuracy"):
        run.chart("acuracy")


@pytest.mark.parametrize("make", [realistic, hostile, thousand], ids=lambda make: make.__name__)
def test_charts_are_valid_and_small_whatever_the_labels(make):
    findings = make().findings
    for chart in (findings.chart(), *(finding.chart() for finding in findings.findings[:4])):
        for rows in rows_of(chart, validate=False):
            assert len(rows) <= MOST_LINES
            assert len({row["label"] for row in rows}) == len(rows)
            assert all(len(row["label"]) < 100 for row in rows)
        in_page = chart.to_html()  # which validates
        assert in_page.count("</script") == EMPTY.to_html().count("</script")
        assert "<!--" not in in_page


def test_no_label_of_an_artifact_ends_the_script_around_its_chart():
    end = "</script><img src=x onerror=alert(2)>"
    table = pl.DataFrame({end: [end, "<!--<script>"], "value": [0.25, 0.5]})
    made = MadeArtifact("own/bars", end, table, (end,), (Figure("bars", x=end, y="value"),))
    in_page = made.chart().to_html()
    assert in_page.count("</script") == EMPTY.to_html().count("</script")
    assert "<!--" not in in_page


def test_a_chart_is_filled_where_a_corrected_test_passed():
    """As on pages; every point was filled and blue."""
    frame = make_frame(n=3000, bias=0.9, seed=3)
    frame = frame.with_columns(other=pl.Series(np.random.default_rng(0).choice(["x", "y"], 3000)))
    columns = {"truth": "truth", "prediction": "prediction", "by": ["group", "other"]}
    chart = eh.audit(frame, **columns, metrics="accuracy_gap").findings.chart()
    lines = {line["label"]: line["beyond"] for rows in rows_of(chart) for line in rows}
    assert lines == {"by=group": True, "by=other": False}
    point = next(
        layer for layer in chart.to_dict()["vconcat"][0]["layer"] if layer["mark"]["type"] == "point"
    )
    assert point["encoding"]["fill"]["condition"]["test"] == "datum.beyond"


def test_a_count_is_drawn_from_zero():
    """Three mistakes stood in the middle of an axis from -3 to 3."""
    columns = {"truth": "truth", "prediction": "prediction", "by": "group"}
    run = eh.audit(make_frame(n=3000, bias=0.9, seed=3), **columns, metrics="disparities")
    layers = run.finding("disparities").chart().to_dict()["vconcat"][0]["layer"]
    [scale] = [one["encoding"]["x"]["scale"] for one in layers if one["mark"]["type"] == "point"]
    assert scale["zero"] is True


def test_a_chart_tells_what_it_does_not_draw():
    finding = thousand().findings.findings[0]
    title = finding.chart().to_dict()["vconcat"][1]["title"]
    assert title["subtitle"] == ["the first 40 of 950", "50 not estimable: constant"]
    undefined = next(one for one in realistic().findings.findings if one.value is None)
    assert undefined.chart().to_dict()["vconcat"][0]["title"]["subtitle"] == [
        f"1 not estimable: {undefined.reason}"
    ]


def test_results_become_frames(run):
    finding = run.finding("skewsize", "group")
    frame = finding.to_frame()
    assert frame["row"].to_list() == ["finding", *["part"] * len(finding.parts)]
    assert frame["value"].to_list() == [finding.value, *(part.value for part in finding.parts)]
    assert frame["null_high"][1] == finding.parts[0].null.high
    assert frame["corrected"].to_list()[1:] == [part.corrected for part in finding.parts]
    assert frame["chance_at"].to_list()[1:] == [part.chance_at for part in finding.parts]
    assert frame["role"].to_list() == [finding.role, *(part.role for part in finding.parts)]
    assert "pandas" in type(frame.to_pandas()).__module__
    every = run.findings.to_frame()
    assert every.height == sum(1 + len(one.parts) for one in run.findings.findings)
    whole = run.to_frame().select(every.columns)
    assert every.equals(whole)


def test_drawing_is_loaded_only_when_it_is_asked_for():
    code = (
        "import sys\n"
        "from evenhand.core.findings import Finding, Source\n"
        "about = {'direction': 'descriptive', 'source': Source(paper='p')}\n"
        "one = Finding(metric='m', name='m', value=1, n=2, **about)\n"
        "print('evenhand.display' in sys.modules, one)\n"
        "one._repr_html_()\n"
        "heavy = ('altair', 'polars', 'pandas')\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "one.chart()\n"
        "print('altair' in sys.modules, 'pandas' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.splitlines() == ["False m: 1.000; n = 2", "[]", "True False"]


NOTEBOOK = """
import polars as pl, numpy as np, evenhand as eh
rng = np.random.default_rng(0)
truth, group = rng.choice(["<i>cat</i>", "dog"], 400), rng.choice(["a", "b"], 400)
said = np.where(rng.random(400) < 0.8, truth, "dog")
preds = eh.Predictions.from_frame(
    pl.DataFrame({"truth": truth, "said": said, "group": group}), truth="truth", prediction="said"
)
run = eh.audit(preds, by="group")
"""


def test_a_notebook_shows_results_as_tables_and_charts():
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    shows = ["preds", "run", "run.findings", 'run.finding("skewsize")', "run.counts['predictions']"]
    draws = [
        "run.chart()",
        'run.chart("accuracy")',
        'run.finding("skewsize").chart()',
        "run.findings.chart()",
    ]
    frames = ["run.to_frame()", "run.findings.to_frame()"]
    cells = [nbformat.v4.new_code_cell(source) for source in (NOTEBOOK, *shows, *draws, *frames)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell["outputs"][0]["data"] for cell in notebook["cells"][1:]]
    for output in outputs[: len(shows)]:
        read = Tags(output["text/html"])
        assert read.tags <= CELL
    for output in outputs[len(shows) : len(shows) + len(draws)]:
        assert "vegaEmbed" in output["text/html"]
    assert all("shape: " in output["text/plain"] for output in outputs[-len(frames) :])
