"""The page as text: what it says, what it escapes, what it must never ask for."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import altair as alt
import pytest
from jsonschema import ValidationError

from evenhand.core.findings import Findings
from evenhand.report.content import ReportInput
from evenhand.report.insight.opening import opening
from evenhand.report.page.html import render_html
from evenhand.report.views import charts
from tests.report import report_samples as samples

SECTIONS = ["summary", "findings", "contrasts", "dropped", "definitions", "limits", "manifest"]
CHAPTER = ["", "-findings", "-groups", "-classes", "-distribution", "-accuracy"]


class Outline(HTMLParser):
    """Elements, ids, visible text and data of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.data = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.text += " "
        if tag in {"script", "style"}:
            self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag):
        if tag in {"script", "style"}:
            self._inside = ""

    def handle_data(self, data):
        if self._inside == "run-data":
            self.data += data
        elif not self._inside:
            self.text += data

    @property
    def ids(self) -> list[str]:
        return [found for _, attributes in self.tags if (found := attributes.get("id"))]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


@pytest.fixture(scope="module", params=["realistic", "thousand", "undefined", "hostile"])
def page(request):
    return render_html(getattr(samples, request.param)())


@pytest.fixture(scope="module")
def realistic():
    return Outline(render_html(samples.realistic()))


def body(text: str) -> str:
    """The page without the chart library, whose namespaces are addresses but never asked for."""
    return re.sub(r"<script>.*?</script>", "", text, flags=re.S)


def test_no_page_asks_for_anything(page):
    outline = Outline(page)
    for tag, attributes in outline.tags:
        assert tag not in {"iframe", "object", "embed", "base", "form", "img", "video", "audio"}
        for name in ("src", "href", "srcset", "action", "poster", "data", "xlink:href"):
            target = attributes.get(name) or "#"
            assert target.startswith("#") or target == "data:,", (tag, name, target)
    assert not re.search(r"https?://|url\(|@import", body(page))
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page


def test_only_the_pages_own_scripts_may_run(page):
    scripts = [attributes for tag, attributes in Outline(page).tags if tag == "script"]
    assert len(scripts) == 3
    assert page.count("'sha256-") == 2
    handlers = [name for _, attributes in Outline(page).tags for name in attributes if name.startswith("on")]
    assert handlers == []


def test_ids_are_unique_and_links_resolve(page):
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    targets = [attributes["href"] for tag, attributes in outline.tags if tag == "a"]
    assert {target.removeprefix("#") for target in targets} <= set(outline.ids)
    assert set(SECTIONS) <= set(outline.ids)


def test_every_placeholder_has_its_data(page):
    outline = Outline(page)
    data = json.loads(outline.data)
    for _, attributes in outline.tags:
        if (name := attributes.get("data-table")) is not None:
            assert data["tables"][name]["frame"] in data["frames"]
        if (name := attributes.get("data-chart")) is not None:
            assert data["charts"][name]["spec"] in data["specs"]
            assert attributes["aria-label"]
            assert attributes["role"] == "img"


def test_a_chapter_has_all_its_sections(realistic):
    for chapter in ("by-perceived-gender", "by-perceived-gender-age"):
        assert {chapter + section for section in CHAPTER} <= set(realistic.ids)


def test_numbers_stand_beside_interval_null_and_direction(realistic):
    numbers = "0.812 −2 2 0.310 to 1.440 (spread, no interval) −0.910 to 0.970 – –"
    assert f"SkewSize its 12 parts {numbers}" in realistic.words
    assert "↓ lower is fairer" in realistic.words
    assert "↑ higher is better" in realistic.words
    assert "95% interval" in realistic.words


def test_skewsize_never_stands_alone(realistic):
    titles = re.findall(r"SkewSize|Mean effect size|Median effect size|Largest effect size", realistic.words)
    place = titles.index("Mean effect size")
    assert titles[place - 1 : place + 3] == [
        "SkewSize",
        "Mean effect size",
        "Median effect size",
        "Largest effect size",
    ]


def test_unknown_metrics_are_shown(realistic):
    assert "Future metric rate" in realistic.words
    assert "12.500" in realistic.words


def test_contrasts_dropped_and_limits_are_told(realistic):
    assert "paper mode 0.655 the paper’s listing applies Yates’s correction" in realistic.words
    assert (
        "“perceived gender” is not annotated 22 perceived gender every finding of this grouping"
        in realistic.words
    )
    assert "associations, not causes" in realistic.words
    assert "question of context" in realistic.words
    assert "“perceived gender” is perceived" in realistic.words
    assert "9f9f9f9f" in realistic.words


def test_bands_are_counted_not_computed(realistic):
    assert "negligible 0 to below 0.1 4 small 0.1 to below 0.3 4 medium" in realistic.words
    assert "not estimable – 1" in realistic.words


def test_undefined_is_a_dash_and_a_reason_never_a_number():
    outline = Outline(render_html(samples.undefined()))
    assert (
        "Differences of mistakes could not be estimated. Not estimable is not the same as fair."
        in outline.words
    )
    assert "Accuracy gap – – – – – ↓ lower is fairer" in outline.words
    assert "Not estimable: there are no usable rows." in outline.words
    labels = json.loads(outline.data)["labels"]
    assert "only one group has rows here" in labels
    assert "every group received the same single prediction, so there is nothing to compare" in labels


def test_hostile_labels_stay_text():
    text = render_html(samples.hostile())
    outline = Outline(text)
    assert "<script>alert(1)" not in text
    assert "<img" not in body(text)
    assert "<b>gender" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "{{7*7}}" in outline.words
    assert "49" not in re.findall(r"\b\d+\b", outline.words)
    labels = json.loads(outline.data)["labels"]
    for label in samples.HOSTILE[:4]:
        assert label in labels
    assert "line one⏎line two" in labels
    assert "[U+202E]gnirts desrever" in labels
    assert "␀␛[31m" in labels
    assert ("long " * 2000)[:-1] + "␣" in labels, "the full text of a long label is reachable"
    assert "lone" in text
    assert "<" not in outline.data
    text.encode("utf-8")


def test_a_thousand_classes_stay_small_and_labels_are_written_once():
    text = render_html(samples.thousand())
    assert len(text.encode()) < 2_000_000
    assert text.count("n00000777 class 777") <= 3
    assert text.count("vegaEmbed=") == 1


def test_nothing_at_all_still_renders():
    outline = Outline(render_html(ReportInput(Findings(manifest_id="m", findings=[]))))
    assert "The run holds no findings." in outline.words
    assert set(SECTIONS) <= set(outline.ids)


def test_a_comparison_without_a_test_says_so_first():
    """Its values stood under “The run holds no findings.”."""
    nothing = ReportInput(Findings(manifest_id="m", findings=[]), manifest={"kind": "compare"})
    [(_, title)] = opening(nothing, (), question="", has_cases=False).title
    assert title == "No metric of these runs is compared by a test; their values stand side by side."


def test_any_manifest_key_may_be_missing_or_strange():
    run = samples.realistic()
    for key in samples.MANIFEST:
        manifest = {name: entry for name, entry in samples.MANIFEST.items() if name != key}
        assert "All numbers" in render_html(ReportInput(run.findings, manifest))
    strange = dict.fromkeys(samples.MANIFEST)
    assert "All numbers" in render_html(ReportInput(run.findings, strange))


def test_groupings_whose_names_collide_keep_their_own_anchors():
    findings = [samples.plain("accuracy", by, 0.5, "higher is better") for by in (("a b",), ("a-b",), ("ж",))]
    outline = Outline(render_html(samples.content(findings)))
    assert {"by-a-b", "by-a-b-2", "by-all"} <= set(outline.ids)


def test_equal_runs_give_equal_pages():
    assert render_html(samples.realistic()) == render_html(samples.realistic())


def test_charts_of_the_page_are_valid_vega_lite():
    effects = [chart(0.5) for chart in (charts.classes, charts.overview, charts.histogram, charts.scatter)]
    for spec in (*effects, charts.groups()):
        drawn = {name: value for name, value in spec.items() if name not in ("config", "autosize")}
        alt.LayerChart.validate(drawn)
    drawn["layer"] = [{**drawn["layer"][0], "mark": {"type": "bar", "size": "much"}}]
    with pytest.raises(ValidationError, match="much"):
        alt.LayerChart.validate(drawn)
