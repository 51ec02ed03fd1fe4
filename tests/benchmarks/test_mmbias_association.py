"""mmbias/association end to end: three forms, models of every kind, tables of embeddings, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.mmbias.data.prompts import SENSITIVITY, fill
from evenhand.core.errors import ParameterError, UserError
from evenhand.stats.association import permutation
from tests.benchmarks.mmbias_planted import ITEMS, cosine, naive_d, naive_p, naive_phi, paint, planted
from tests.benchmarks.mmbias_release import release
from tests.cli.test_audit import type_in
from tests.conftest import SHARED
from tests.models.tiny import build

OFFICIAL = SHARED / "data" / "mmbias"
FORMS = ("cross-modal", "textual", "visual")
PAIR = {"targets": ["left", "right"], "attributes": ["bad", "good"]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return planted(tmp_path / "data")


def own(data: Path, name: str = "Both") -> str:
    return f"{data.parent / 'own.py'}:{name}"


def associate(model, data: Path, out: Path | None = None, limit: int | None = None, **parameters: str):
    return eh.run("mmbias/association", model=model, data=data, parameters=parameters, out=out, limit=limit)


def vectors_of(run) -> dict[str, np.ndarray]:
    found = {}
    for name in ("images", "texts"):
        if name in run.evidence:
            table = run.evidence[name].collect()
            found |= dict(zip(table["sample"], table["vector"].to_list(), strict=True))
    return found


def samples_of(run, form: str) -> dict[str, list[str]]:
    """Samples of each set in a form, from the table of members."""
    modality = {"cross-modal": ("image", "text"), "textual": ("text", "text"), "visual": ("image", "image")}
    target, attribute = modality[form]
    rows = run.tables["members"].filter(
        ((pl.col("role") == "target") & (pl.col("modality") == target))
        | ((pl.col("role") == "attribute") & (pl.col("modality") == attribute))
    )
    sets: dict[str, list[str]] = {}
    for row in rows.to_dicts():
        sets.setdefault(row["set"], []).append(row["sample"])
    return sets


def naive(run, form: str, x: str = "left", y: str = "right", a: str = "bad", b: str = "good"):
    """Associations of X and of Y by loops over the evidence on disk."""
    vectors, sets = vectors_of(run), samples_of(run, form)
    usable = {sample for sample, vector in vectors.items() if np.linalg.norm(vector) > 0}
    kept = {name: [one for one in samples if one in usable] for name, samples in sets.items()}
    return tuple(naive_phi(vectors, kept[name], kept[a], kept[b]) for name in (x, y))


def test_a_planted_association_is_found_in_all_forms_with_exact_p(data):
    run = associate(own(data), data)
    for form in FORMS:
        finding = run.finding("association_effect_size", form=form, **PAIR)
        x, y = naive(run, form)
        assert finding.value == pytest.approx(naive_d(x, y), abs=1e-12)
        assert finding.value > 1
        assert finding.details["p_items"] == pytest.approx(naive_p(x, y), abs=1e-12)
        assert finding.details["method"] == "exact"
        difference = run.finding("association_difference", form=form, **PAIR)
        assert difference.value == pytest.approx(np.mean(x) - np.mean(y), abs=1e-12)
    assert {one.params["form"] for one in run.findings.findings} == set(FORMS)


def test_each_image_and_prompt_is_asked_about_once_and_the_second_time_nothing(data, tmp_path):
    for asked in ({"images": 4 * ITEMS, "texts": 4 * ITEMS}, {"images": 0, "texts": 0}):
        run = associate(own(data), data, out=tmp_path / "run")
        assert {one["question"]: one["asked"] for one in run.manifest["asking"]["questions"]} == asked
    seen = (data.parent / "seen.txt").read_text().splitlines()
    assert len(seen) == len(set(seen)) == 8 * ITEMS


def test_the_run_folder_is_whole(data, tmp_path, papers, monkeypatch, capsys):
    words = ["run", "mmbias/association", "--data", data, "--model", own(data)]
    assert type_in(monkeypatch, *words, "-v", "-o", tmp_path / "run", "-p", "templates=sensitivity") == 0
    told = capsys.readouterr()
    assert "cross-modal, d > 0: the first set is nearer to bad than to good" in told.out
    assert sum(line.startswith("left v right ") for line in told.out.splitlines()) == 3  # a row for each form
    assert "over templates" in told.out
    for name in ("findings.json", "manifest.json", "report.html"):
        assert (tmp_path / "run" / name).is_file()
    for name in ("images", "texts", "annotations"):
        assert list((tmp_path / "run" / "evidence" / name).glob("part-*.parquet"))
    columns = {
        "members": "role set item sample modality template family",
        "tests": "form x y a b x_name y_name name tested reason",
        "contributions": "form x y a b role item association contribution without",
        "templates": "form x y a b target_template attribute_template d",
        "single_category": "form set a b item effect_size p_value n",
        "levels": "form set attribute_set mean sd n",
        "attribution": "group reading rank word sentiment value",
        "traps": "kind set item other detail",
        "lost": "form role set item reason",
    }
    for name, expected in columns.items():
        table = pl.read_parquet(tmp_path / "run" / "tables" / f"{name}.parquet")
        assert table.columns == expected.split(), name
        assert len(table) or name in ("traps", "lost"), name
    items = pl.read_parquet(tmp_path / "run" / "tables" / "contributions.parquet")["item"]
    assert {"left/0", "left0", "bad0", "bad/0"} <= set(items)  # what people know, not prompts
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "cannot" in manifest["card"]


@pytest.mark.parametrize(
    ("model", "forms"), [("Words", {"textual"}), ("Pictures", {"visual"}), ("Both", set(FORMS))]
)
def test_auto_tests_what_the_model_can(data, model, forms):
    run = associate(own(data, model), data)
    assert {one.params["form"] for one in run.findings.findings} == forms
    assert set(run.tables["tests"]["form"]) == forms


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        ("Words", {"form": "visual"}, "form=visual cannot be tested: the model lacks embeds_images"),
        ("Pictures", {"form": "cross-modal,visual"}, "cross-modal cannot be tested: the model lacks"),
        ("Both", {"form": "vishual"}, "form='vishual' is not possible; choose one of 'auto'"),
        ("Both", {"form": ","}, "names no form"),
        ("Both", {"target_template": "This is."}, "has 0 places"),
        ("Both", {"attribute_template": "{} {}"}, "has 2 places"),
        ("Both", {"templates": "nowhere.txt"}, "neither a file nor one of sensitivity"),
        ("Both", {"ddof": "2"}, "choose one of"),
        ("Both", {"k": "0"}, "k=0 is not possible"),
        ("Both", {"scale": "-1"}, "give auto or a positive number"),
        ("Both", {"alternative": "both"}, "choose one of"),
        ("Both", {"alternative": "less", "mode": "paper"}, "leave one of the two out"),
        ("Both", {"pairs": "left:rihgt"}, "did you mean 'right'"),
        ("Both", {"tepmlates": "x"}, "did you mean 'templates'"),
    ],
)
def test_what_is_not_possible_is_one_line(data, monkeypatch, capsys, model, parameters, message):
    words = ["run", "mmbias/association", "--data", data, "--model", own(data, model)]
    given = [word for name, value in parameters.items() for word in ("-p", f"{name}={value}")]
    assert type_in(monkeypatch, *words, *given, "-o", data.parent / "run") == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.err.count("\n") == 1
    assert not (data.parent / "run").exists()


def test_data_without_images_leave_the_textual_form(tmp_path):
    data = planted(tmp_path, images=False)
    run = associate(own(data), data)
    assert {one.params["form"] for one in run.findings.findings} == {"textual"}
    with pytest.raises(UserError, match=r"the sets left, right, bad, good in .* have no images"):
        associate(own(data), data, form="visual")


def test_a_template_changes_what_is_asked_and_the_range_is_told(data, tmp_path):
    run = associate(own(data), data, form="textual,cross-modal", templates="sensitivity")
    rows = run.tables["templates"]
    for form, column in (("textual", "target_template"), ("cross-modal", "attribute_template")):
        found = rows.filter(form=form)
        assert set(found[column]) == set(SENSITIVITY)
        details = run.finding("association_effect_size", form=form, **PAIR).details
        assert details["template_low"] == pytest.approx(found["d"].min(), abs=0)
        assert details["template_high"] == pytest.approx(found["d"].max(), abs=0)
        assert details["template_low"] < details["template_high"]
    for template in SENSITIVITY[:3]:
        again = associate(own(data), data, form="textual", target_template=template)
        d = again.finding("association_effect_size", form="textual", **PAIR).value
        listed = rows.filter(form="textual", target_template=template)["d"].item()
        assert listed == pytest.approx(d, abs=1e-12)
    (tmp_path / "lines.txt").write_text("{}\n\nOh, {}!\n")
    run = associate(own(data), data, form="textual", templates=str(tmp_path / "lines.txt"))
    assert set(run.tables["templates"]["target_template"]) == {"This is {}.", "{}", "Oh, {}!"}
    (tmp_path / "lines.txt").write_text("no place\n")
    with pytest.raises(ParameterError, match="0 places"):
        associate(own(data), data, templates=str(tmp_path / "lines.txt"))
    (tmp_path / "lines.txt").write_text("\n")
    with pytest.raises(UserError, match="holds no template"):
        associate(own(data), data, templates=str(tmp_path / "lines.txt"))


def test_a_phrase_may_hold_braces():
    assert fill("This is {}.", "a {set} {}") == "This is a {set} {}."


def test_nan_zero_and_unreadable_are_left_out_and_counted_once(data):
    broken = data.parent / "pictures" / "right" / "2.png"
    broken.write_bytes(broken.read_bytes()[:40])
    run = associate(own(data, "Flawed"), data)
    for form, dropped in (
        ("textual", {"answer not finite": 1, "vector of length 0": 1}),
        ("cross-modal", {"vector of length 0": 1}),
        ("visual", {}),
    ):
        finding = run.finding("association_effect_size", form=form, **PAIR)
        x, y = naive(run, form)
        assert (len(x), len(y)) == ((4, 5) if form == "textual" else (5, 4))
        assert finding.value == pytest.approx(naive_d(x, y), abs=1e-12)
        told = {one.reason: one.count for one in finding.dropped}
        assert dropped.items() <= told.items()
        assert "no answer" not in told
        assert sum(told.values()) == len(run.unanswered) + dropped.get("vector of length 0", 0)
    assert len(run.unanswered) == 2


@pytest.mark.parametrize("way", ["table", "score"])
def test_embeddings_made_elsewhere_say_the_same(data, tmp_path, way):
    first = associate(own(data), data, out=tmp_path / "first", scale="20")
    evidence = tmp_path / "first" / "evidence"
    if way == "table":
        again = associate(f"table:{evidence}", data, scale="20")
    else:
        again = eh.score("mmbias/association", evidence=evidence, data=data, parameters={"scale": "20"})
    assert [(one.metric, one.value) for one in again.findings.findings] == [
        (one.metric, one.value) for one in first.findings.findings
    ]


def test_scores_need_embeddings(data, tmp_path):
    for content, message in (
        (pl.DataFrame({"sample": ["a"], "score": [1.0]}), "holds no embeddings"),
        (pl.DataFrame({"sample": ["a"], "modality": ["sound"], "vector": [[1.0]]}), "modalities 'sound'"),
        (
            pl.DataFrame({"sample": ["a"] * 2, "modality": ["text"] * 2, "vector": [[1.0]] * 2}),
            "several vectors of 'a' among the texts",
        ),
    ):
        content.write_parquet(tmp_path / "t.parquet")
        with pytest.raises(UserError, match=message):
            eh.score("mmbias/association", evidence=tmp_path / "t.parquet", data=data)
    with pytest.raises(UserError, match="there is no"):
        eh.score("mmbias/association", evidence=tmp_path / "missing", data=data)


def test_contributions_are_those_of_the_images_that_are_compared(data):
    pictures = data.parent / "pictures"
    (pictures / "right" / "4.png").write_bytes((pictures / "left" / "0.png").read_bytes())
    run = associate(own(data), data, form="visual,textual")
    rows = run.tables["contributions"].filter(role="x")
    assert rows.filter(form="visual")["item"].sort().to_list() == [f"left/{n}" for n in range(1, 5)]
    assert len(rows.filter(form="textual")) == ITEMS


@pytest.mark.parametrize(
    ("model", "form", "reason"),
    [("Constant", form, "equal_associations") for form in FORMS] + [("NoLeft", "textual", "empty_set")],
)
def test_what_is_undefined_is_null_with_its_reason(data, tmp_path, model, form, reason):
    run = associate(own(data, model), data, form=form, out=tmp_path / "run", templates="sensitivity")
    finding = run.finding("association_effect_size", form=form)
    assert finding.value is None
    assert finding.reason == reason
    assert finding.p_value is None
    difference = run.finding("association_difference", form=form)
    assert difference.value == (None if reason == "empty_set" else 0)
    assert (tmp_path / "run" / "report.html").is_file()


def test_images_and_texts_of_different_dimensions_are_refused_in_one_line(data, monkeypatch, capsys):
    words = ["run", "mmbias/association", "--data", data, "--model", own(data, "Wider")]
    assert type_in(monkeypatch, *words, "-o", data.parent / "run") == 2
    told = capsys.readouterr()
    assert "8" in told.err
    assert "11" in told.err
    assert told.err.count("\n") == 1
    assert not (data.parent / "run").exists()
    assert type_in(monkeypatch, *words, "-p", "form=textual,visual", "-o", data.parent / "run") == 0


def test_ddof_alternative_and_paper_mode_say_what_they_should(data):
    plain = associate(own(data), data, form="textual").finding("association_effect_size")
    zero = associate(own(data), data, form="textual", ddof="0").finding("association_effect_size")
    assert zero.value == pytest.approx(plain.value * np.sqrt(10 / 9), abs=1e-12)
    without = associate(own(data), data, form="textual", ddof="0").tables["contributions"]["without"]
    assert without.min() == pytest.approx(zero.details["without_low"], abs=1e-12)
    assert without.max() == pytest.approx(zero.details["without_high"], abs=1e-12)
    less = associate(own(data), data, form="textual", alternative="less").finding("association_effect_size")
    assert less.details["p_items"] == pytest.approx(plain.details["p_left"], abs=1e-12)
    paper = associate(own(data), data, form="textual", mode="paper").finding("association_effect_size")
    assert paper.p_value == pytest.approx(plain.details["p_right"], abs=1e-12)
    assert paper.value == plain.value


def test_pairs_can_be_chosen_and_overlapping_words_left_out(tmp_path):
    release(tmp_path, traps=True)
    model = f"hf:{build('clip')}"
    chosen = associate(model, tmp_path, form="textual", pairs="muslim:christian,mental:abled")
    effects = [one for one in chosen.findings.findings if one.name == "association_effect_size"]
    assert [one.params["targets"] for one in effects] == [["muslim", "christian"], ["mental", "non-disabled"]]
    assert set(chosen.tables["members"].filter(role="target")["set"]) == {
        "muslim", "christian", "mental", "non-disabled",
    }  # fmt: skip
    without = associate(model, tmp_path, form="textual", pairs="mental:abled", drop_overlap="yes")
    assert without.finding("association_effect_size").n == effects[1].n - 1


def test_a_limit_takes_the_first_images_of_each_set(data):
    run = associate(own(data), data, limit=3)
    asked = {one["question"]: one["rows"] for one in run.manifest["asking"]["questions"]}
    assert asked == {"images": 4 * 3, "texts": 4 * ITEMS}
    images = run.tables["members"].filter(modality="image")
    assert images.group_by("set").len()["len"].to_list() == [3] * 4


def test_equal_images_are_left_out_where_their_sets_are_compared(data):
    pictures = data.parent / "pictures"
    (pictures / "right" / "4.png").write_bytes((pictures / "left" / "0.png").read_bytes())
    run = associate(own(data), data, form="visual")
    finding = run.finding("association_effect_size", form="visual", **PAIR)
    assert {one.reason: one.count for one in finding.dropped} == {"image in two of the compared sets": 2}
    assert finding.n == 2 * ITEMS - 2
    assert set(run.tables["traps"]["kind"]) == {"same image in two sets"}


def test_attribution_reads_the_words_at_the_top_of_each_group(data):
    run = associate(own(data), data, form="cross-modal", k="4")
    table = run.tables["attribution"]
    assert set(table["reading"]) == {"softmax", "argmax", "cosine"}
    vectors, sets = vectors_of(run), samples_of(run, "cross-modal")
    words = [*sets["bad"], *sets["good"]]
    for group in ("left", "right"):
        cosines = np.array([[cosine(vectors[one], vectors[word]) for word in words] for one in sets[group]])
        weight = np.exp(20 * cosines)
        share = (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0)
        order = np.argsort(-share)[:4]
        found = table.filter((pl.col("rank") <= 4), group=group, reading="softmax").sort("rank")
        assert found["word"].to_list() == [words[place] for place in order]
        assert found["value"].to_numpy() == pytest.approx(share[order], abs=1e-6)
        finding = run.finding("pleasant_at_k", target=group)
        assert finding.value == np.mean([words[place].startswith("good") for place in order])


def test_without_a_logit_scale_softmax_is_not_made_up(data, tmp_path):
    first = associate(own(data), data, out=tmp_path / "first")
    again = associate(f"table:{tmp_path / 'first' / 'evidence'}", data, form="cross-modal")
    assert set(again.tables["attribution"]["reading"]) == {"argmax", "cosine"}
    assert again.finding("pleasant_at_k").params["reading"] == "cosine"
    assert any("give -p scale=100" in note for note in again.finding("pleasant_at_k").notes)
    assert not any("scale" in note for note in first.finding("pleasant_at_k").notes)
    assert first.finding("pleasant_at_k").params["reading"] == "softmax"


def test_seat_lines_of_the_users_own_are_corrected_together(data, tmp_path):
    test = {
        "targ1": {"category": "L", "examples": [f"left{n}" for n in range(5)]},
        "targ2": {"category": "R", "examples": [f"right{n}" for n in range(5)]},
        "attr1": {"category": "Bad", "examples": [f"bad{n}" for n in range(4)]},
        "attr2": {"category": "Good", "examples": [f"good{n}" for n in range(4)]},
    }
    turned = {**test, "targ1": test["targ2"], "targ2": test["targ1"]}
    (tmp_path / "seat.jsonl").write_text(f"{json.dumps(test)}\n{json.dumps(turned)}\n")
    run = associate(own(data), tmp_path / "seat.jsonl", form="textual")
    one, other = (f for f in run.findings.findings if f.name == "association_effect_size")
    assert one.value == pytest.approx(-other.value, abs=1e-12)
    assert (one.details["test"], other.details["test"]) == ("seat#1", "seat#2")
    assert one.p_adjusted == pytest.approx(min(1.0, 2 * one.p_value))
    (tmp_path / "twice.jsonl").write_text(f"{json.dumps(test)}\n{json.dumps(turned)}\n{json.dumps(test)}\n")
    run = associate(own(data), tmp_path / "twice.jsonl", form="textual")
    assert run.tables["tests"]["name"].to_list() == ["twice#1 | twice#3", "twice#2"]
    names = [f.details["test"] for f in run.findings.findings if f.name == "association_effect_size"]
    assert names == ["twice#1 | twice#3", "twice#2"]


def test_tiny_clip_runs_over_images_of_the_users_own(tmp_path):
    data = planted(tmp_path / "data")
    paint(tmp_path / "data" / "pictures" / "left", 0, items=7)
    run = associate(f"hf:{build('clip')}", data)
    for form in FORMS:
        x, y = naive(run, form)
        finding = run.finding("association_effect_size", form=form, **PAIR)
        assert finding.value == pytest.approx(naive_d(x, y), abs=1e-9)
    assert {"softmax", "argmax", "cosine"} == set(run.tables["attribution"]["reading"])


def test_a_release_has_19_textual_pairs_and_15_with_images(tmp_path):
    release(tmp_path, images=4, traps=True)
    run = associate(f"hf:{build('clip')}", tmp_path)
    tests = run.tables["tests"]
    tested = dict(tests.filter("tested").group_by("form").len().iter_rows())
    assert tested == {"textual": 19, "cross-modal": 15, "visual": 15}
    untested = tests.filter(~pl.col("tested"), form="visual")
    assert set(untested["x_name"]) | set(untested["y_name"]) >= {"French", "Italian", "Visual", "Hearing"}
    assert "no images of 'french'" in untested["reason"].to_list()
    notes = run.manifest["asking"]["notes"]
    assert notes["visual: pairs without items"] == notes["cross-modal: pairs without items"] == 4
    for form, count in tested.items():
        found = [one for one in run.findings.findings if one.params["form"] == form]
        assert sum(one.name == "association_effect_size" for one in found) == count
        first = run.finding("association_effect_size", form=form, targets=["muslim", "christian"])
        x, y = naive(run, form, "muslim", "christian", "unpleasant", "pleasant")
        if form == "textual":
            assert first.value == pytest.approx(naive_d(x, y), abs=1e-9)
        else:
            dropped = {one.reason: one.count for one in first.dropped}
            assert dropped["image in two of the compared sets"] >= 2
    assert len(run.tables["traps"]) > 5
    assert set(run.tables["attribution"]["group"]) == set(
        run.tables["members"].filter(modality="image", role="target")["set"]
    )


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason=f"needs {OFFICIAL}")
def test_the_real_phrases_run_in_the_textual_form_with_exact_p(monkeypatch):
    for test in (permutation.permutation_test, permutation.permutation_tests):
        monkeypatch.setitem(test.__kwdefaults__, "draws", 199)  # of tests of one set, which are not exact
    run = associate(f"hf:{build('clip')}", OFFICIAL, form="auto")
    effects = [one for one in run.findings.findings if one.name == "association_effect_size"]
    assert len(effects) == 19
    assert {one.params["form"] for one in effects} == {"textual"}
    assert {one.details["method"] for one in effects} == {"exact"}
    asked = {one["question"]: one["rows"] for one in run.manifest["asking"]["questions"]}
    phrases = run.tables["members"].filter(role="target")["sample"].n_unique()
    assert asked == {"texts": phrases + 120}
