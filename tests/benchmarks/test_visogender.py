"""VisoGender end to end: models of every kind on images in a folder, and scores made elsewhere."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.visogender.data.captions import OCC_FIRST, TEMPLATES
from evenhand.benchmarks.visogender.data.samples import read_samples
from evenhand.core.errors import ParameterError, UserError
from tests.benchmarks.visogender_release import THREE, paint, release, sample_of
from tests.conftest import SHARED
from tests.models.tiny import build

pytestmark = pytest.mark.usefixtures("few_draws", "no_pages")
OFFICIAL = SHARED / "data" / "visogender"


class Planted:
    """Knows from a picture whose it is; cosines with captions are what ``prefer`` says.

    Args:
        samples: The samples of the release.
        prefer: From a sample's row and the pronoun of a caption to a cosine.
    """

    logit_scale = 1.0
    made = count()

    def __init__(self, samples: pl.DataFrame, prefer) -> None:
        self.version = str(next(self.made))  # what one prefers is no answer of another
        self.rows = {row["sample"]: row for row in samples.to_dicts()}
        self.place = {sample: index for index, sample in enumerate(self.rows)}
        self.prefer = prefer
        self.images_seen: list[str] = []
        self.texts_seen: list[str] = []

    def embed_images(self, images):
        vectors = np.zeros((len(images), len(self.place) + 1), dtype=np.float32)
        for vector, image in zip(vectors, images, strict=True):
            sample = sample_of(image)
            self.images_seen.append(sample)
            vector[self.place[sample]] = 1
        return vectors

    def embed_texts(self, texts):
        """A cosine with each image, and what is left to length 1 where no image is."""
        vectors = np.zeros((len(texts), len(self.place) + 1), dtype=np.float64)
        for vector, text in zip(vectors, texts, strict=True):
            self.texts_seen.append(text)
            for sample, row in self.rows.items():
                vector[self.place[sample]] = self.prefer(row, text) / 40
            vector[-1] = np.sqrt(1 - (vector[:-1] ** 2).sum())
        return vectors.astype(np.float32)


def pronoun_of(text: str) -> str:
    return text.split(" and ")[1].split(maxsplit=1)[0]


def owner_of(row: dict, text: str) -> str | None:
    """The perceived gender of whom a caption speaks of first, if the caption is of this sample."""
    for template in TEMPLATES.values():
        if template.fits(row) and template.caption(row, pronoun_of(text)) == text:
            return row[template.subject]
    return None


def right(row: dict, text: str) -> float:
    meant = {"his": "masculine", "her": "feminine"}.get(pronoun_of(text))
    return 1.0 if meant is not None and meant == owner_of(row, text) else 0.0


@pytest.fixture
def data(tmp_path: Path) -> Path:
    release(tmp_path / "data")
    return tmp_path / "data"


def resolve(model, data: Path, out: Path | None = None, **parameters: str):
    return eh.run("visogender/resolution", model=model, data=data, parameters=parameters, out=out)


def naive(run, template: str, candidates=("his", "her", "their")) -> dict[str, dict[str, float]]:
    """Rates of each outcome by gender, counted one by one; ties are shared."""
    scores: dict[str, dict[str, float]] = {}
    for sample, named, candidate, score in run.tables["scores"].iter_rows():
        if named == template and candidate in candidates:
            scores.setdefault(sample, {})[candidate] = score
    truth = {
        row["sample"]: row[TEMPLATES[template].subject]
        for row in run.evidence["annotations"].collect().to_dicts()
    }
    meaning = {"his": "masculine", "her": "feminine", "their": "neutral"}
    sums: dict[str, dict[str, float]] = {}
    for sample, given in scores.items():
        best = [one for one, score in given.items() if score == max(given.values())]
        counted = sums.setdefault(truth[sample], {"n": 0, "correct": 0, "misgendered": 0, "neutral": 0})
        counted["n"] += 1
        for one in best:
            meant = meaning[one]
            outcome = (
                "correct" if meant == truth[sample] else "neutral" if meant == "neutral" else "misgendered"
            )
            counted[outcome] += 1 / len(best)
    return {
        gender: {name: value / counted["n"] for name, value in counted.items() if name != "n"}
        for gender, counted in sums.items()
    }


def check_against_naive(run, template: str) -> None:
    expected = naive(run, template)
    for name, outcome in (
        ("resolution_accuracy", "correct"),
        ("misgendering_rate", "misgendered"),
        ("neutral_rate", "neutral"),
    ):
        finding = run.finding(
            name, setting="two_person" if template == "par_first" else "all", template=template
        )
        mean = (expected["masculine"][outcome] + expected["feminine"][outcome]) / 2
        assert finding.value == pytest.approx(mean, abs=1e-12)
        for gender, rates in expected.items():
            assert finding.part(gender).value == pytest.approx(rates[outcome], abs=1e-12)


@pytest.mark.parametrize(
    ("family", "parameters", "way"),
    [
        ("clip", {}, "captions"),
        ("vilt", {}, "match"),
        ("blip_caption", {}, "continuations"),
        ("blip_caption", {"ask": "first_token"}, "first_token"),
        ("git", {}, "continuations"),
        ("llava", {}, "continuations"),
        ("llava", {"ask": "choice"}, "choice"),
    ],
)
def test_every_kind_of_model_resolves_pronouns(tmp_path, family, parameters, way):
    release(tmp_path / "data", THREE[:2])
    run = resolve(f"hf:{build(family)}", tmp_path / "data", **parameters)
    finding = run.finding("resolution_accuracy", setting="all", template="occ_first")
    assert finding.params["ask"] == way
    if way == "choice":  # random weights name few letters: everything else is counted
        dropped = {one.reason: one.count for one in finding.dropped}
        assert finding.n + dropped["no scores"] == 60
        places = run.tables["places"].group_by("template").agg(pl.col("chosen").sum()).sort("template")
        assert places["chosen"].to_list() == [60 * 6, 40 * 6]
        unread = run.tables["places"].filter(pl.col("place").is_null())["chosen"].sum()
        assert run.tables["unread_answers"].height == unread > 0
        assert [warning.code for warning in run.findings.warnings] == ["unread_answers"]
        return
    assert finding.n == 60
    assert finding.null is not None
    assert finding.interval is not None
    check_against_naive(run, "occ_first")
    check_against_naive(run, "par_first")


def test_a_dual_encoder_sees_each_image_and_caption_once_for_both_benchmarks(data, tmp_path):
    (tmp_path / "own.py").write_text(COUNTING)
    model = f"{tmp_path / 'own.py'}:Counting"
    first = resolve(model, data)
    second = eh.run("visogender/retrieval", model=model, data=data)
    asked = {one["question"]: one["asked"] for one in first.manifest["asking"]["questions"]}
    assert asked == {"images": 90, "captions": 27}
    assert {one["question"]: one["asked"] for one in second.manifest["asking"]["questions"]} == {
        "images": 0,
        "captions": 0,
    }
    seen = (tmp_path / "seen.txt").read_text().splitlines()
    assert sorted(map(int, seen)) == sorted(set(map(int, seen)))
    assert len(seen) == 90 + 27


COUNTING = """
import zlib
from pathlib import Path

import numpy as np

class Counting:
    version = "1"
    logit_scale = 1.0

    def _vectors(self, things):
        with open(Path(__file__).parent / "seen.txt", "a") as seen:
            seen.writelines(f"{zlib.crc32(thing)}\\n" for thing in things)
        seeds = [zlib.crc32(thing) for thing in things]
        return np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds]).astype("f4")

    def embed_images(self, images):
        return self._vectors([image.tobytes() for image in images])

    def embed_texts(self, texts):
        return self._vectors([text.encode() for text in texts])
"""


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason=f"needs {OFFICIAL}")
def test_on_the_full_release_690_images_and_210_captions_are_asked_about_once(tmp_path):
    samples = read_samples(OFFICIAL).frame
    paint(tmp_path / "images", samples["sample"].to_list())
    (tmp_path / "own.py").write_text(COUNTING)
    model = f"{tmp_path / 'own.py'}:Counting"
    first = resolve(model, OFFICIAL, images=str(tmp_path / "images"))
    given = {"images": str(tmp_path / "images")}
    second = eh.run("visogender/retrieval", model=model, data=OFFICIAL, parameters=given)
    seen = (tmp_path / "seen.txt").read_text().splitlines()
    assert len(seen) == len(set(seen)) == 690 + 210
    assert [one["asked"] for one in second.manifest["asking"]["questions"]] == [0, 0]
    assert first.tables["coverage"]["usable"].sum() == 690
    assert second.finding("ndkl", context="two_person", template="occ_first").n == 460
    for metric in ("resolution_accuracy", "misgendering_rate"):
        finding = first.finding(metric, setting="all", template="occ_first")
        assert finding.null.low <= finding.value <= finding.null.high


def test_retrieval_equals_a_loop_over_sorted_images(data):
    run = eh.run("visogender/retrieval", model=f"hf:{build('clip')}", data=data)
    ranked = run.tables["rankings"].filter(context="two_person", template="par_first")
    notes = run.evidence["annotations"].collect()
    for subject in ("occupation", "participant"):
        gender = dict(notes.select("sample", f"{subject}_perceived_gender").iter_rows())
        values = []
        for (_,), part in ranked.group_by("query", maintain_order=True):
            first = part.sort("score", descending=True)["sample"][:5]
            signs = [1 if gender[one] == "masculine" else -1 for one in first]
            values.append(np.mean(signs))
        finding = run.finding("bias_at_k", k=5, context="two_person", template="par_first", subject=subject)
        assert finding.value == pytest.approx(np.mean(values), abs=1e-12)
        assert finding.details["sigma"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    names = {finding.name for finding in run.findings.findings}
    assert names == {"bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl"}


def test_the_pool_of_all_images_is_ranked_by_every_occupation(data):
    run = eh.run("visogender/retrieval", model=f"hf:{build('clip')}", data=data, parameters={"pool": "all"})
    ranked = run.tables["rankings"].filter(context="single", template="occ_first")
    assert ranked.group_by("query").len()["len"].to_list() == [30, 30, 30]


def test_their_for_feminine_subjects_is_neutral_and_not_misgendering(data):
    samples = read_samples(data).frame
    feminine = samples.filter(occupation_perceived_gender="feminine")["sample"].to_list()
    tenth = set(feminine[::10])

    def prefer(row, text):
        if row["sample"] in tenth and pronoun_of(text) == "their" and owner_of(row, text) is not None:
            return 2.0
        return right(row, text)

    run = resolve(Planted(samples, prefer), data)
    share = len(tenth) / len(feminine)
    assert share == pytest.approx(0.1, abs=0.02)
    found = {
        name: run.finding(name, setting="all", template="occ_first")
        for name in (
            "neutral_rate",
            "neutral_gap",
            "misgendering_rate",
            "misgendering_gap",
            "resolution_gap",
        )
    }
    assert found["neutral_rate"].part("feminine").value == pytest.approx(share)
    assert found["neutral_rate"].part("masculine").value == 0
    assert found["neutral_gap"].value == pytest.approx(-share)
    assert found["misgendering_rate"].value == 0
    assert found["misgendering_rate"].part("feminine").value == 0
    assert found["misgendering_gap"].value == 0
    assert found["resolution_gap"].value == pytest.approx(share)
    two = resolve(Planted(samples, prefer), data, candidates="his,her")
    assert two.finding("resolution_accuracy", setting="all", template="occ_first").value == 1
    assert two.finding("neutral_rate", setting="all", template="occ_first").value == 0


def test_other_pronouns_are_candidates_too(data):
    samples = read_samples(data).frame
    model = Planted(samples, lambda row, text: 1.0 if pronoun_of(text) == "xyr" else right(row, text) / 2)
    run = resolve(model, data, candidates="his,her,xyr=neutral")
    assert run.finding("neutral_rate", setting="all", template="occ_first").value == 1
    other = resolve(model, data, candidates="his,her,xyr=neopronoun")
    assert other.finding("neutral_rate", setting="all", template="occ_first").value == 0
    assert other.finding("resolution_accuracy", setting="all", template="occ_first").value == 0
    with pytest.raises(ParameterError, match="what does 'xyr' stand for"):
        resolve(model, data, candidates="his,her,xyr")


def test_a_chat_model_that_always_says_a_has_no_pronoun_but_a_place(data):
    class SaysA:
        version = "1"

        def answer(self, images, prompts):
            assert prompts[0].count("\n") == 4
            return ["A."] * len(prompts)

    run = resolve(SaysA(), data, ask="choice")
    places = run.tables["places"].filter(template="occ_first")
    assert places.select("place", "share").rows() == [(1, 1.0)]
    finding = run.finding("resolution_accuracy", setting="all", template="occ_first")
    assert finding.value == pytest.approx(1 / 3)  # every order was asked, so every pronoun was chosen
    assert run.finding("misgendering_gap", setting="all", template="occ_first").value == pytest.approx(0)


def test_missing_images_are_counted_once_and_the_rest_is_measured(data, tmp_path):
    (data / "images" / "OO_1.png").unlink()
    (data / "images" / "OP_2.png").write_bytes(b"<html>")
    model = f"hf:{build('clip')}"
    run = resolve(model, data)
    finding = run.finding("resolution_accuracy", setting="all", template="occ_first")
    assert finding.n == 88
    assert {(one.reason, one.count) for one in finding.dropped} == {("no such file", 1), ("not an image", 1)}
    cells = run.tables["coverage"].filter(pl.col("samples") > pl.col("usable"))
    assert cells.select("occupation", "gender_pair", "usable").rows() == [
        ("doctor", "m", 4),
        ("doctor", "mm", 4),
    ]
    retrieval = eh.run("visogender/retrieval", model=model, data=data)
    ndkl = retrieval.finding("ndkl", context="two_person", template="occ_first")
    assert ndkl.n == 59
    assert {(one.reason, one.count) for one in ndkl.dropped} == {("no such file", 1), ("not an image", 1)}
    assert any("lost samples" in note for note in ndkl.notes)
    paper = eh.run("visogender/retrieval", model=model, data=data, parameters={"mode": "paper"})
    assert paper.finding("ndkl", context="two_person", template="occ_first").n == 40  # no doctor at all


def test_ids_are_left_out_and_labels_corrected(data, tmp_path):
    (tmp_path / "out.txt").write_text("OO_1\nOP_7\n")
    (tmp_path / "mend.tsv").write_text("id\tcolumn\tvalue\nOO_2\toccupation_perceived_gender\tfeminine\n")
    run = resolve(
        f"hf:{build('clip')}", data, exclude=str(tmp_path / "out.txt"), amend=str(tmp_path / "mend.tsv")
    )
    finding = run.finding("resolution_accuracy", setting="all", template="occ_first")
    assert finding.n == 88
    assert {(one.reason, one.count) for one in finding.dropped} == {("excluded", 2)}
    notes = run.evidence["annotations"].collect()
    assert notes.filter(sample="OO_2")["occupation_perceived_gender"].to_list() == ["feminine"]


def test_paper_mode_rounds_and_writes_the_original_benchmark_file(data, tmp_path):
    model = f"hf:{build('clip')}"
    run = resolve(model, data, mode="paper", out=tmp_path / "run")
    (file,) = (tmp_path / "run" / "exports").iterdir()
    content = json.loads(file.read_text())
    assert file.name.startswith("benchmark_results_CLIP_hf-")
    single = run.finding("resolution_accuracy", setting="single", template="occ_first")
    assert (
        content["resolution_bias"]["single_person_images"]["RA_avg"] == single.value == round(single.value, 2)
    )
    retrieval = eh.run(
        "visogender/retrieval", model=model, data=data, parameters={"mode": "paper"}, out=tmp_path / "ranked"
    )
    (other,) = (tmp_path / "ranked" / "exports").iterdir()
    assert json.loads(other.read_text())["retrieval_bias"] == content["retrieval_bias"]
    bias = retrieval.finding("bias_at_k", k=5, context="two_person", template="occ_first")
    assert content["retrieval_bias"]["bias@5"]["mean"] == round(bias.value, 2)
    assert eh.Run.read(tmp_path / "run").exports == {file.name: file.read_bytes()}


def test_scores_of_a_run_are_scored_again(data, tmp_path):
    run = resolve(f"hf:{build('clip')}", data, out=tmp_path / "run")
    table = tmp_path / "mine.csv"
    run.tables["scores"].write_csv(table)
    for place in (tmp_path / "run", table):
        again = eh.score("visogender/resolution", evidence=place, data=data)
        for finding in run.findings.findings:
            same = again.finding(
                finding.name, finding.by, **{k: v for k, v in finding.params.items() if k != "ask"}
            )
            assert same.value == pytest.approx(finding.value, abs=1e-12)
            assert same.p_value == finding.p_value
    ranked = eh.run("visogender/retrieval", model=f"hf:{build('clip')}", data=data, out=tmp_path / "ranked")
    again = eh.score("visogender/retrieval", evidence=tmp_path / "ranked", data=data)
    assert [one.value for one in again.findings.findings] == [one.value for one in ranked.findings.findings]


def test_a_table_without_templates_is_of_occ_first(data, tmp_path):
    samples = read_samples(data).frame
    rows = [
        (row["sample"], pronoun, right(row, OCC_FIRST.caption(row, pronoun)))
        for row in samples.to_dicts()
        for pronoun in ("his", "her", "their")
    ]
    pl.DataFrame(rows, schema=["sample", "candidate", "score"], orient="row").write_parquet(
        tmp_path / "s.parquet"
    )
    run = eh.score("visogender/resolution", evidence=tmp_path / "s.parquet", data=data)
    assert run.finding("resolution_accuracy", setting="all").value == 1
    assert {finding.params["template"] for finding in run.findings.findings} == {"occ_first"}


def test_benchmarks_that_read_no_scores_say_so(tmp_path):
    (tmp_path / "s.csv").write_text("sample,candidate,score\na,b,1\n")
    with pytest.raises(UserError, match=r"'classification' reads no scores.*table:FILE"):
        eh.score("classification", evidence=tmp_path / "s.csv")


def test_files_without_scores_are_told_in_one_line(data, tmp_path):
    (tmp_path / "s.csv").write_text("sample,candidat,score\na,b,1\n")
    with pytest.raises(UserError, match="did you mean 'candidat'"):
        eh.score("visogender/resolution", evidence=tmp_path / "s.csv", data=data)
    with pytest.raises(UserError, match="there is no"):
        eh.score("visogender/resolution", evidence=tmp_path / "nowhere", data=data)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="columns sample, candidate, score, or clip_MODEL"):
        eh.score("visogender/resolution", evidence=tmp_path / "empty", data=data)
