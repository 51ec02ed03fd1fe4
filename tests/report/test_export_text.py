"""Labels that pages and spreadsheets would act on: links and @names in Markdown, formulas in CSV."""

import io

import polars as pl
import pytest

from evenhand.core.unseen import visible
from evenhand.files.tables.spreadsheets import csv_bytes
from evenhand.report.exports.control_mapping import controls, controls_markdown
from evenhand.report.exports.exported import markdown
from evenhand.report.exports.model_card import model_card
from evenhand.report.exports.summary import summary
from evenhand.report.exports.tidy import tidy_csv, tidy_frame
from tests.report.export_samples import exported
from tests.report.markdown_nodes import LINKED, nodes_of
from tests.report.report_samples import class_part, content, plain, skewsize

ACTED_ON = [
    "https://example.org/a?b=c",
    "HTTP://example.org",
    "www.example.org",
    "ask me@example.org",
    "@octocat",
    "team/@octocat #12",
    "see org/project#34 and GH-56",
    "ftp://x.org mailto:a@b.org",
    "[x](javascript:alert(1)) `code` **bold** | cell",
    "<img src=x> &amp; <https://example.org>",
    "1. a list",
    "- a list",
    "    code",
    "~~gone~~ $x$ \\[y\\] - [ ] 1. # head",
]
FORMULAS = [
    "=1+1",
    "+1+cmd",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'=1",
    "''@x",
    "'plain",
    "-5",
    "+3.5%",
    "=",
    "a=b",
]


@pytest.mark.parametrize("label", ACTED_ON)
def test_a_label_is_shown_as_it_is_and_nothing_is_linked(label):
    for source in (f"| a |\n|---|\n| {markdown(label)} |\n", f"a\n\n- {markdown(label)}\n"):
        nodes, links = nodes_of(source)
        shown = "".join(nodes[1:])
        assert shown.replace("\0", "") == visible(label).strip()
        assert links == []
    assert [part for part in shown.split("\0") if LINKED.search(part)] == []


def hostile():
    parts = [class_part(label, 0.6, 300, 0.8) for label in ACTED_ON]
    one = skewsize(("@octocat",), parts)
    return exported(content([one, plain("accuracy", ("www.x.org",), None, "higher is better", reason="@you")],
                            model="api:m@http://x.org", benchmark="#12"), "@run https://x.org")  # fmt: skip


def test_a_table_that_is_its_own_benchmark_is_named_once():
    made = summary(
        [
            exported(
                content(
                    [plain("accuracy", ("g",), 0.5, "higher is better")], model="t.csv", benchmark="t.csv"
                ),
                "run",
            )
        ]
    )
    assert "\n## t.csv\n" in made.decode()


def test_no_format_of_markdown_makes_links_of_labels():
    pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    run = hostile()
    written = [summary([run]), model_card([run]), controls_markdown(controls([run], {}))]
    for made in written:
        source = made.decode().rpartition("\n---\n")[2]  # YAML is no Markdown
        nodes, links = nodes_of(source)
        assert set(links) <= {"strong_open"}
        parted = "".join(nodes).split("\0")
        assert [part for part in parted if LINKED.search(part)] == []


def test_csv_has_no_formulas_and_is_read_back():
    table = pl.DataFrame({"label": [*FORMULAS, None, ""], "n": range(len(FORMULAS) + 2)})
    made = csv_bytes(table)
    cells = pl.read_csv(io.BytesIO(made), schema=table.schema)["label"]
    plain_numbers = {"-5", "+3.5%"}
    assert [cell for cell in cells if cell and cell[0] in "=+-@\t\r" and cell not in plain_numbers] == []
    read = cells.str.replace(r"^'('*[=+\-@\t\r\n＝＋－＠])", "$1")  # as docs/exports.md says
    assert read.equals(table["label"])


def test_rows_of_hostile_labels_come_back_from_csv_and_stay_raw_in_parquet():
    run = exported(content([skewsize(("=by",), [class_part(label, 0.6, 300, 0.8) for label in FORMULAS])]))
    frame = tidy_frame([run])
    read = pl.read_csv(io.BytesIO(tidy_csv([run])), schema=frame.schema)
    back = read.with_columns(pl.col(pl.String).str.replace(r"^'('*[=+\-@\t\r\n＝＋－＠])", "$1"))
    assert back.equals(frame)
    keys = frame.filter(pl.col("row") == "part")["key"].to_list()
    assert keys == FORMULAS
    assert "'=1+1" in read["key"].to_list()
    assert "'=by" in read["by"].to_list()
