"""Reports on associations and on mitigations: in words, with pairs told apart, and what they cannot show."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.display.text import formatting as formats
from evenhand.report import facets, glossary
from evenhand.report.chapters import in_chapters
from evenhand.report.views import rows
from evenhand.report.wording import associations as association_words
from tests.benchmarks.mmbias_release import release
from tests.report.report_samples import plain


class Own:
    """Phrases of Muslims lie with the unpleasant words."""

    version, logit_scale = "1", 10.0

    def embed_images(self, images):
        made = [np.random.default_rng(zlib.crc32(image.tobytes())).normal(size=12) for image in images]
        return np.array(made, dtype=np.float32)

    def embed_texts(self, texts):
        made = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=12) for text in texts]
        for vector, text in zip(made, texts, strict=True):
            vector[0] += 6.0 if "bad" in text or "muslim" in text else -6.0
        return np.array(made, dtype=np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    data = release(tmp_path_factory.mktemp("data"), phrases=10, words=10, images=4)
    out = tmp_path_factory.mktemp("runs")
    pairs = {"pairs": "muslim:christian,arab:american"}
    eh.run("mmbias/association", model=Own(), data=data, parameters=pairs, out=out / "run")
    return out


@pytest.fixture(scope="module")
def run(folder):
    return eh.Run.read(folder / "run")


def test_a_chapter_for_each_form_says_who_is_tied_to_what(run):
    chapters = in_chapters(run.findings.findings)
    assert [chapter.title for chapter in chapters] == [
        "Images of groups, and words",
        "Phrases of groups, and words",
        "Images of groups, and pictures",
    ]
    textual = chapters[1]
    verdict = association_words.verdict(textual, 0.05)
    assert verdict == (
        "Tied more to “unpleasant” than chance explains (of 2 pairs): muslim (against christian)."
    )
    told = " ".join(association_words.finding_sentences(textual, 0.05))
    d = run.finding("association_effect_size", form="textual", targets=["muslim", "christian"])
    level = formats.percent(d.interval.level)
    assert level != "95%"  # that of its place among all pairs
    assert f"The largest effect size d is {d.value:.3f} for muslim – christian ({level} interval" in told
    assert "d cannot leave about ±2 and is near that end for muslim – christian (Cohen’s d" in told
    assert "The corrected p is at most 0.05, and the interval leaves out 0, for muslim" in told
    visual = association_words.verdict(chapters[2], 0.05)
    assert visual.endswith("That does not prove fairness.")
    lines = [
        rows.row(one, 0.05, with_level=False, param_names=facets.varying(textual.findings))
        for one in textual.findings
    ]
    assert [line.params for line in lines[:2]] == ["muslim – christian", "arab – american"]


def test_p_of_one_side_says_nothing_of_the_other(run):
    (textual,) = [one for one in in_chapters(run.findings.findings) if one.title.startswith("Phrases")]
    turned = [
        one.model_copy(
            update={
                "params": {**one.params, **how},
                "value": -(one.value or 0),
                "p_value": 1.0,
                "p_adjusted": 1.0,
            }
        )
        for one in textual.findings
        for how in [{"alternative": "greater"}]
        if one.name == "association_effect_size"
    ]
    verdict = association_words.verdict(replace(textual, findings=turned), 0.05)
    assert "p looks at that side only" in verdict
    assert "In none of 2 pairs is the first group tied more to “unpleasant”" in verdict


def test_readings_of_matches_are_not_counted_as_pairs(run):
    (textual,) = [one for one in in_chapters(run.findings.findings) if one.title.startswith("Phrases")]
    several = [
        one.model_copy(update={"name": "match_association", "params": {**one.params, "reading": reading}})
        for reading in ("per_image_joint", "per_group")
        for one in textual.findings
        if one.name == "association_effect_size"
    ]
    chapter = replace(textual, findings=several)
    assert "(of 2 pairs): muslim (against christian)." in association_words.verdict(chapter, 0.05)
    told = " ".join(association_words.finding_sentences(chapter, 0.05))
    assert "The corrected p is at most 0.05" in told
    assert "All this is of one reading (each image’s likeliest words, by probability); 1 more stands" in told


def test_every_metric_and_reason_has_words(run):
    chapters = in_chapters(run.findings.findings)
    assert all("not described" not in one.meaning for one in rows.definitions(chapters))
    for code in ("empty_set", "one_member", "equal_associations"):
        assert glossary.reason(code) != code.replace("_", " ")
    assert {finding.card.summary for finding in run.findings} - {""}


def test_the_page_speaks_of_groups_and_not_of_predictions(run):
    page = run.html() if hasattr(run, "html") else (run.folder / "report.html").read_text()
    assert "examined the embeddings of “Own”" in page
    assert "Nobody’s faith, nationality, orientation or disability can be seen" in page
    assert "SkewSize ignores" not in page
    assert "the predictions of" not in page
    assert "other words and photos of the same kind would give by chance, not other concepts" in page


def test_a_report_on_a_mitigation_puts_held_out_items_first(folder):
    pytest.importorskip("sklearn")
    made = eh.debias(folder / "run", method="pruning", form="textual", remove=1)
    chapters = in_chapters(made.findings.findings)
    assert chapters[0].title == "Phrases of groups, and words, held-out items"
    assert association_words.verdict(chapters[0], 0.05).startswith(
        "On held-out items the association is weaker"
    )
    told = association_words.finding_sentences(chapters[0], 0.05)
    assert told[0].startswith("muslim – christian: d goes from ")
    assert "; removing as much at random gives " in told[0]
    assert "no evidence that it helps" in association_words.verdict(chapters[1], 0.05)
    assert "took no part in choosing" in association_words.null_in_words(chapters[0])
    page = made.html()
    assert "after “pruning”" in page
    assert "is the tie weaker after the mitigation" in page


def test_other_reports_are_left_alone():
    chapter = in_chapters([plain("accuracy", ("g",), 0.5, "higher is better")])[0]
    assert (association_words.verdict(chapter, 0.05), association_words.finding_sentences(chapter, 0.05)) == (
        "",
        [],
    )
