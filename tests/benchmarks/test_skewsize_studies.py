"""Occupations, sports and backgrounds: generated folders, one's own images, answers in words, classifiers."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.benchmark import Setting, parse_parameters
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition, shipped
from evenhand.benchmarks.skewsize.open_answers import vocabulary_of
from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from evenhand.evidence.open_answers.normalise import normalised
from evenhand.models.identity.source import ImageOptions, LoadOptions
from evenhand.workflows.data.engine import check_data
from evenhand.workflows.generate.engine import generate
from tests.benchmarks.indicator_models import Answers, Classifies, Compares, numbered_image
from tests.benchmarks.skewsize_layouts import STUDY, ask, cells, dropped, generated
from tests.models.tiny import build
from tests.models.tiny_diffusion import STEPS, build_pipeline

NAMES = ("backgrounds", "celeba", "domainnet", "occupations", "sports", "waterbirds")


def said_of(table: pl.DataFrame) -> list[str]:
    """The right word in several forms; female waiters are called waitresses, two male lawyers clerks."""
    words = []
    for truth, gender, index in table.select("truth", "gender", "index").iter_rows():
        right = "waitress" if (truth, gender) == ("waiter", "female") else truth
        forms = [right, f"The person is a {right}.", f"A {right}", f"**{right.title()}**"]
        words.append("clerk" if (truth, gender) == ("lawyer", "male") and index < 2 else forms[index % 4])
    return words


def value(run, name: str, **params: object) -> float | None:
    found = [one for one in run.findings.findings if one.name == name and one.by == ["gender"]]
    chosen = [one for one in found if all(one.params.get(key) == each for key, each in params.items())]
    if "answers" not in params:
        chosen = [one for one in chosen if "answers" not in one.params]
    assert len(chosen) == 1
    return chosen[0].value


def test_a_generated_folder_is_asked_and_answers_become_labels(tmp_path):
    table = generated(tmp_path / "images")
    model = Answers(said_of(table))
    run = ask("occupations", model, tmp_path / "images", out=tmp_path / "run")
    assert model.prompts == {"What is this person's occupation?"}
    assert value(run, "accuracy") == pytest.approx(58 / 60)
    right = [said == truth for said, truth in zip(model.texts, table["truth"], strict=True)]
    assert value(run, "accuracy", answers="raw") == pytest.approx(np.mean(right))
    assert run.finding("skewsize", "gender").part("waiter").value is None  # all the same once normalised
    raw = next(one for one in run.findings.findings if one.metric == "skewsize(by=gender, answers=raw)")
    assert raw.part("waiter").value == pytest.approx(1.0)  # waitress or waiter tells the gender
    assert {one.name for one in run.findings.findings if one.params.get("answers") == "raw"} == {
        "skewsize", "cramers_v_mean", "cramers_v_median", "cramers_v_max", "accuracy",
    }  # fmt: skip
    assert run.manifest["about"] == {
        "layout": "generated", "annotated_by": {"gender": "the prompt"}, "definition": "tiny",
        "generator": ["diffusers:tiny"],
    }  # fmt: skip
    assert set(run.counts) == {"predictions", "predictions_raw"}
    assert run.counts["predictions"].n_total == run.counts["predictions_raw"].n_total == 60
    answers = run.tables["answers"]
    assert answers.columns[:8] == [
        "sample", "raw", "case", "frame", "article", "punctuation", "lemma", "synonym",
    ]  # fmt: skip
    changed = answers.filter(pl.col("raw") == "waitress").row(0, named=True)
    assert (changed["lemma"], changed["synonym"], changed["matched"]) == ("waitress", "waiter", "synonym")
    assert (tmp_path / "run" / "exports" / "answers-to-review.csv").is_file()
    assert {"answers_to_review", "answer_steps", "mistakes"} <= set(run.tables)


def test_a_waitress_can_be_kept_apart(tmp_path):
    table = generated(tmp_path)
    run = ask("occupations", Answers(said_of(table)), tmp_path, gendered="keep")
    assert value(run, "accuracy") == pytest.approx(48 / 60)
    assert "waitress" in run.counts["predictions"].axis("prediction").levels


def test_decisions_about_answers_are_reused(tmp_path):
    table = generated(tmp_path / "images")
    model = Answers(said_of(table))
    first = ask("occupations", model, tmp_path / "images")
    rows = list(csv.DictReader(io.StringIO(first.exports["answers-to-review.csv"].decode())))
    assert rows[0]["raw"] == "clerk"  # what has no label comes first
    for row in rows:
        row["decision"] = "lawyer" if row["raw"] == "clerk" else ""
    with (tmp_path / "reviewed.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    again = ask("occupations", model, tmp_path / "images", decisions=str(tmp_path / "reviewed.csv"))
    assert value(again, "accuracy") == 1.0
    assert again.tables["decisions"].row(0, named=True) == {
        "answer": "clerk", "on": "raw", "decision": "lawyer", "n": 2
    }  # fmt: skip


def test_what_answers_are_to_become_is_checked_before_anything_is_asked(tmp_path):
    generated(tmp_path / "made")
    model = Answers(["nurse"] * 60)
    with pytest.raises(InputError, match=r"there is no file 'none\.csv'"):
        ask("occupations", model, tmp_path / "made", decisions="none.csv")
    with pytest.raises(InputError, match=r"there is no file 'none\.tsv'; give one of occupations"):
        ask("occupations", model, tmp_path / "made", synonyms="none.tsv")
    cells(tmp_path / "own", {"Juggler/female": 1, "juggler/male": 1})
    with pytest.raises(ParameterError, match="are both 'juggler' in an answer"):
        ask("occupations", model, tmp_path / "own")
    assert not model.prompts


@pytest.mark.parametrize("name", ["occupations", "sports", "backgrounds"])
def test_every_class_is_recognised_in_an_answer(tmp_path, name):
    definition, benchmark = GenerationDefinition.read(name), BENCHMARKS.get(f"skewsize/{name}")
    places = cells(tmp_path, {f"{one.name}/{definition.groups[0].name}": 1 for one in definition.classes})
    material = benchmark.samples(Setting(parse_parameters(benchmark, {}), tmp_path, (), 0))
    assert len(material) == len(places)
    vocabulary = vocabulary_of(material, parse_parameters(benchmark, {}))
    said = {}
    for one in definition.classes:
        said |= {one.name: one.name, one.text: one.name, f"A {one.text}.": one.name}
    found = normalised(pl.DataFrame({"sample": list(said), "text": list(said)}), vocabulary)
    assert not [(raw, name) for raw, name in found.select("raw", "prediction").rows() if said[raw] != name]


def test_refusals_and_empty_answers_are_labels_and_are_counted(tmp_path):
    table = generated(tmp_path)
    words = said_of(table)
    words[0], words[1] = "I'm sorry, I can't identify people.", "  "
    run = ask("occupations", Answers(words), tmp_path)
    levels = run.counts["predictions"].axis("prediction").levels
    assert {"(refusal)", "(empty)"} <= set(levels)
    assert run.counts["predictions"].n_total == 60
    assert "(empty)" in run.counts["predictions_raw"].axis("prediction").levels


def test_flagged_images_stay_unless_they_are_excluded(tmp_path):
    flags = [["no face"] if number < 6 else [] for number in range(60)]
    by_model = [number == 59 for number in range(60)]
    table = generated(tmp_path, flags=flags, flagged_by_model=by_model)
    model = Answers(said_of(table))
    kept = ask("occupations", model, tmp_path)
    assert kept.counts["predictions"].n_total == 60
    assert kept.manifest["asking"]["notes"] == {"flagged by the quality gate or the generator": 7}
    assert kept.annotations["flagged"].value_counts().sort("flagged")["count"].to_list() == [53, 7]
    without = ask("occupations", model, tmp_path, flagged="exclude")
    assert without.counts["predictions"].n_total == 53
    assert dropped(without) == {"flagged by the quality gate or the generator": 7}


def test_broken_rows_of_a_generated_folder_are_counted(tmp_path):
    table = generated(tmp_path / "images")
    rows = table.rows(named=True)
    rows[0]["image"] = "../../etc/passwd"
    rows[1]["image"] = "/etc/passwd"
    rows[2]["truth"] = None
    rows[3]["gender"] = ""
    rows[4]["sample"] = rows[5]["sample"]
    pl.DataFrame(rows, schema=table.schema).write_parquet(tmp_path / "images" / "annotations.parquet")
    (tmp_path / "images" / rows[10]["image"]).write_bytes(b"no image")
    (tmp_path / "images" / rows[11]["image"]).unlink()
    run = ask("occupations", Answers(said_of(table)), tmp_path / "images")
    assert dropped(run) == {
        "image path that leaves the folder": 2,
        "row without image, class or group": 2,
        "sample on an earlier row": 1,
        "not an image": 1,
        "no such file": 1,
    }
    assert run.counts["predictions"].n_total == 53


def test_a_folder_of_another_study_is_refused(tmp_path):
    generated(tmp_path)
    with pytest.raises(UserError, match="shows each occupation; type: evenhand run skewsize/occupations"):
        ask("sports", Answers([""]), tmp_path)
    with pytest.raises(UserError, match="definition of its own"):
        ask("occupations", Answers([""]), tmp_path, definition="occupations")
    (tmp_path / "annotations.parquet").unlink()
    with pytest.raises(InputError, match="type the same evenhand generate again"):
        ask("occupations", Answers([""]), tmp_path)
    (tmp_path / "annotations.parquet").write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(InputError, match="annotations"):
        ask("occupations", Answers([""]), tmp_path)


@pytest.mark.parametrize("order", ["class/group", "group/class"])
def test_folders_of_ones_own_images(tmp_path, order):
    names = {"Nurse/female": 4, "Nurse/male": 5, "flight_attendant/female": 6, "flight_attendant/male": 3}
    names["juggler/male"] = 2
    turned = {"/".join(reversed(name.split("/"))): count for name, count in names.items()}
    places = cells(tmp_path, names if order == "class/group" else turned)
    numbered_image(tmp_path / "loose.png", 0)
    model = Answers(["a nurse" if "Nurse" in place else "steward" for place in places])
    run = ask("occupations", model, tmp_path)
    counted = run.annotations.group_by("truth", "gender").len().sort("truth", "gender").rows()
    assert counted == [
        ("flight attendant", "female", 6), ("flight attendant", "male", 3), ("juggler", "male", 2),
        ("nurse", "female", 4), ("nurse", "male", 5),
    ]  # fmt: skip
    assert run.annotations["truth"][:5].n_unique() == 3  # a limit takes some of all
    assert dropped(run) == {"image that lies in no class and group folder": 1}
    assert run.manifest["asking"]["notes"] == {"classes of the definition without an image": 143}
    without = ask("occupations", model, tmp_path, outside="exclude")
    assert dropped(without)["class that the definition does not have"] == 2


def test_hostile_names_of_files_and_folders(tmp_path, papers):
    names = ["nur\nse/female", "nurse/fe;male", "<b>mime/male", "nurse/=1+1", "nurse/female/deeper"]
    places = cells(tmp_path, dict.fromkeys(names, 2))
    odd = os.fsencode(tmp_path / "nurse" / "female") + b"/\xff.png"
    Path(os.fsdecode(odd)).write_bytes(b"")
    (tmp_path / "nurse" / "female" / "link.png").symlink_to(tmp_path / "nowhere.png")
    run = ask("occupations", Answers(["nurse"] * len(places)), tmp_path, out=tmp_path.parent / "run")
    assert dropped(run) == {"file name that is not UTF-8": 1, "no such file": 1}
    assert set(run.annotations["truth"]) == {"nurse", "nur\nse", "<b>mime"}
    assert set(run.annotations["gender"]) == {"female", "fe;male", "male", "=1+1"}
    assert "<b>mime" not in (tmp_path.parent / "run" / "report.html").read_text()


def test_a_table_of_ones_own(tmp_path):
    places = cells(tmp_path, {"images": 8})
    rows = [
        {"file": place, "job": ["Nurse", "judge"][number % 2], "sex": ["f", "m"][number // 4], "age": "old"}
        for number, place in enumerate(places)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "mine.csv")
    model = Answers(["nurse", "judge"] * 4)
    run = ask("occupations", model, tmp_path / "mine.csv", image="file", truth="job", by="sex")
    assert run.finding("accuracy", "sex").value == 1.0
    with pytest.raises(UserError, match=r"there is no column 'gender'.*--image, --truth, --by"):
        ask("occupations", model, tmp_path / "mine.csv", image="file", truth="job")


def test_answers_made_elsewhere_take_the_place_of_a_model(tmp_path):
    table = generated(tmp_path / "images")
    asked = ask("occupations", Answers(said_of(table)), tmp_path / "images", out=tmp_path / "run")
    again = ask("occupations", f"table:{tmp_path / 'run' / 'evidence' / 'answers'}", tmp_path / "images")
    assert [one.value for one in again.findings.findings] == [one.value for one in asked.findings.findings]
    assert again.counts == asked.counts


def test_a_dual_encoder_chooses_among_all_classes_of_the_definition(tmp_path):
    table = generated(tmp_path)
    model = Compares(["nurse", "waiter", "lawyer"], table["truth"].to_list())
    run = ask("occupations", model, tmp_path)
    assert run.finding("accuracy", "gender").value == 1.0
    assert set(model.texts) == {"a photo of a nurse", "a photo of a waiter", "a photo of a lawyer"}
    assert "predictions_raw" not in run.counts
    said = dict(run.tables["predictions"].iter_rows())
    assert said == dict(table.select("sample", "truth").iter_rows())


def test_a_tiny_chat_model_is_asked(tmp_path):
    generated(tmp_path, per_cell=2)
    run = ask("occupations", f"hf:{build('llava')}", tmp_path)
    assert run.counts["predictions"].n_total + sum(dropped(run).values()) == 12
    assert run.evidence["answers"].collect()["question"].unique().to_list() == [
        "What is this person's occupation?"
    ]


def test_images_are_generated_and_asked_about(tmp_path, papers):
    (tmp_path / "study.yaml").write_text(STUDY)
    pipeline = build_pipeline(tmp_path / "pipeline")
    options = LoadOptions(images=ImageOptions(steps=STEPS))
    model, folder = f"diffusers:{pipeline}", tmp_path / "images"
    generate(tmp_path / "study.yaml", model, folder, images_per_cell=2, options=options)
    run = ask("occupations", f"hf:{build('llava')}", tmp_path / "images", out=tmp_path / "run")
    assert run.counts["predictions"].n_total + sum(dropped(run).values()) == 12
    assert run.annotations.columns[:4] == ["sample", "truth", "gender", "image"]
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_tiny_dual_encoder_is_asked(tmp_path):
    generated(tmp_path, per_cell=2)
    run = ask("occupations", f"hf:{build('clip')}", tmp_path)
    assert run.counts["predictions"].n_total == 12


def shifts(folder):
    """Two settings of ImageNet* and its base, with a class that the list has not; images by number."""
    return cells(
        folder,
        {
            "in_the_grass/n01443537": 4, "at_dusk/n01443537": 4, "in_the_grass/n03126707": 4,
            "at_dusk/n03126707": 4, "at_dusk/n01440764": 2, "base/n01443537": 3,
        },
    )  # fmt: skip


def test_imagenet_star_is_read_as_it_is_released(tmp_path):
    places = shifts(tmp_path)
    labels = ["tench, Tinca tinca", "goldfish, Carassius auratus", "crane", "sock"]
    of = {"n01443537": 1, "n03126707": 2, "n01440764": 0}
    logits = np.eye(4)[[of[place.split("/")[1]] for place in places]]
    logits[0] = np.eye(4)[3]
    run = ask("backgrounds", Classifies(logits, labels), tmp_path)
    assert run.finding("accuracy", "background").value == pytest.approx(15 / 16)
    assert set(run.annotations["background"]) == {"in the grass", "at dusk"}
    assert dropped(run) == {
        "class that the definition does not have": 2,
        "group that the definition does not have": 3,
    }
    ids = ["n01440764", "n01443537", "n03126707", "n04254777"]
    every = ask("backgrounds", Classifies(logits, labels, ids), tmp_path, outside="keep")
    assert every.finding("accuracy", "background").value == pytest.approx(20 / 21)
    assert set(every.counts["predictions"].axis("prediction").levels) == {
        "goldfish", "crane", "n01440764", "sock"
    }  # fmt: skip


def test_a_folder_around_all_folders_is_entered(tmp_path):
    places = shifts(tmp_path / "imagenet_star")
    run = ask("backgrounds", Answers(["a goldfish"] * len(places)), tmp_path)
    assert run.counts["predictions"].n_total == 16
    assert dropped(run) == {
        "class that the definition does not have": 2,
        "group that the definition does not have": 3,
    }
    assert {one.name: one.present for one in check_data("imagenet_star", tmp_path).parts}["at dusk"] == 10
    own = cells(tmp_path / "mine" / "photos" / "2024", {"nurse/female": 3, "judge/male": 3})
    run = ask("occupations", Answers(["nurse"] * len(own)), tmp_path / "mine")
    assert run.finding("accuracy", "gender").n == 6


def test_a_tiny_classifier_whose_labels_are_ids(tmp_path):
    cells(tmp_path, {"at_dusk/n01443537": 2, "at_night/n01443537": 2})
    run = ask("backgrounds", f"hf:{build('regnet')}", tmp_path, spelling="any")
    assert run.counts["predictions"].n_total == 4
    with pytest.raises(UserError, match="no predicted label is a true one"):
        ask("backgrounds", f"hf:{build('regnet')}", tmp_path)


def test_no_data_says_how_to_make_some(tmp_path):
    with pytest.raises(InputError, match="evenhand generate occupations --model URI -o FOLDER"):
        ask("occupations", Answers([""]), tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no image in .* can be used \(no image\); it should hold FOLDER"):
        ask("occupations", Answers([""]), tmp_path / "empty")
    cells(tmp_path / "other", {"at_dusk/n01443537": 2, "at_night/n01443537": 2})
    with pytest.raises(InputError, match="such as 'at_dusk', is called as a class or group of 'occupations'"):
        ask("occupations", Answers([""]), tmp_path / "other")
    cells(tmp_path / "one", {"nurse/female": 2})
    with pytest.raises(InputError, match="has one group among usable rows"):
        ask("occupations", Answers(["nurse"] * 2), tmp_path / "one")
    with pytest.raises(UnknownName, match="there is no attribute 'race'"):
        ask("occupations", Answers(["nurse"] * 2), tmp_path / "one", by="race")
    with pytest.raises(ParameterError, match="flagged='drop' is not possible"):
        ask("occupations", Answers(["nurse"] * 2), tmp_path / "one", flagged="drop")


def test_the_shipped_definitions():
    sizes = {"backgrounds": (200, 23), "occupations": (145, 2), "occupations_extended": (145, 5)}
    sizes |= {"sports": (215, 2), "sports_extended": (215, 5)}
    assert set(sizes) <= set(shipped())
    for name, (classes, groups) in sizes.items():
        read = GenerationDefinition.read(name)
        assert (len(read.classes), len(read.groups)) == (classes, groups)
        assert read.name == name
        assert all((read.question, read.source, read.licence, read.limits))
        assert read.people == (name != "backgrounds")
        assert read.changed(images_per_cell=1).prompts()["prompt"].n_unique() == classes * groups


def test_every_background_has_a_template_and_every_class_an_id():
    read = GenerationDefinition.read("backgrounds")
    assert all(len(group.templates) == 1 for group in read.groups)
    assert read.images_per_cell == 200  # as the paper has it
    ids = [one.wordnet_id for one in read.classes]
    assert len(set(ids)) == 200
    assert ids == sorted(ids)
    prompts = set(read.changed(images_per_cell=1).prompts()["prompt"])
    assert {
        "a photo of a blue sock",
        "a photo of a sock on the road",
        "an embroidery of an abacus",
    } <= prompts


def test_the_classes_of_backgrounds_are_those_of_imagenet():
    data = pytest.importorskip("timm.data")
    info = data.ImageNetInfo("imagenet-1k")
    synsets = info.label_names()
    for one in GenerationDefinition.read("backgrounds").classes:
        assert one.wordnet_id in synsets
        assert info.label_name_to_description(one.wordnet_id, detailed=False).split(", ")[0] == one.name


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_a_card_with_source_licence_and_limits(name):
    benchmark = BENCHMARKS.get(f"skewsize/{name}")
    card = benchmark.card()
    assert card.startswith(f"# {benchmark.name}\n")
    for word in ("**Source**", "**Licence**", "**Cannot show**", "Cause, or harm"):
        assert word in card
    if name in ("waterbirds", "celeba"):
        assert "SkewSize is always 0 or undefined" in card
