"""What users' own tables and own files hold: odd values, doubled names, several pictures of a person."""

import json

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.benchmark import Setting
from evenhand.benchmarks.indicators.people.datasets.layouts import read_people
from evenhand.benchmarks.indicators.people.datasets.sources import parts
from evenhand.benchmarks.indicators.questions import label_questions
from evenhand.benchmarks.labelling.taxonomies import read_taxonomy
from evenhand.core.errors import InputError, ParameterError
from evenhand.files.images.sources import ImageFiles
from evenhand.report.chapters import in_chapters
from evenhand.report.wording import indicators as indicator_words
from evenhand.report.wording import limits
from evenhand.workflows.execution.evidence_writer import EvidenceParts
from tests.benchmarks import people_layouts as layouts
from tests.benchmarks.indicator_models import Answers, Classifies, Embeds, ask, numbered_image


def table(folder, **columns):
    """A table of numbered images."""
    count = len(next(iter(columns.values())))
    paths = [numbered_image(folder / f"{number}.png", number).name for number in range(count)]
    pl.DataFrame({"path": paths, **columns}).write_csv(folder / "t.csv", quote_style="non_numeric")
    return folder / "t.csv"


def of_people(tmp_path, women, men):
    """60 women and 60 men with so many pictures each; the model names most women human and few men."""
    sizes = np.repeat([women, men], 60)
    subject = np.repeat(np.arange(120), sizes)
    gender = np.where(subject < 60, "female", "male")
    rng = np.random.default_rng(0)
    human = rng.random(subject.size) < np.where(gender == "female", 0.9, 0.1)
    logits = np.zeros((subject.size, 8))
    logits[np.arange(subject.size), np.where(human, 0, 2)] = 9
    data = table(tmp_path, gender=gender.tolist(), subject=subject.astype(str).tolist())
    return Classifies(logits, ["people", "swine", *"abcdef"]), data


@pytest.mark.parametrize(("women", "men"), [(1, 2), (2, 3), (2, 2)])
def test_a_gap_is_found_whatever_the_numbers_of_pictures(tmp_path, women, men):
    model, data = of_people(tmp_path, women, men)
    run = ask("label_association", model, data, by="gender")
    gap = run.finding("label_association_gap", "gender", association="human")
    assert gap.value > 0.7
    assert gap.p_value < 0.001
    assert gap.null.high < 0.3
    assert gap.interval.low > 0.5
    rate = run.finding("label_association_rate", "gender", association="human")
    assert all(part.p_value < 0.001 and part.null.low < rate.value < part.null.high for part in rate.parts)


def test_groups_of_one_person_each_have_no_test(tmp_path):
    subject = [str(number // 4) for number in range(48)]
    logits = np.random.default_rng(0).normal(size=(48, 8))
    data = table(tmp_path, subject=subject, name=[f"n{one}" for one in subject])
    run = ask("label_association", Classifies(logits, ["people", *"abcdefg"]), data, by="name")
    gap = run.finding("label_association_gap", "name", association="human")
    assert gap.value is not None
    assert (gap.p_value, gap.null, gap.interval, gap.reason) == (None, None, None, "one_cluster")


@pytest.mark.parametrize("gap", ["N/A", "", "Unknown ", "old"])
def test_ages_are_grouped_though_one_is_not_given(tmp_path, gap):
    ages = ["25", "31.0", gap, "70"]
    people = read_people(table(tmp_path, gender=["male ", " Female", "", "Prefer not to say"], age=ages))
    found = people.annotations["age"].to_list()
    assert [found[0], found[1], found[3]] == ["18-30", "30-45", "70+"]
    assert found[2] in ("n/a", "unknown", None)
    assert people.annotations["years"].to_list() == [25, 31, None, 70]
    assert people.annotations["gender"].to_list() == ["male", "female", None, "prefer not to say"]
    assert people.unknown["gender"] == 1


def test_a_column_may_be_called_content(tmp_path):
    data = table(tmp_path, gender=["female", "male"] * 20, content=["a", "b"] * 20)
    run = ask("retrieval", Embeds(np.random.default_rng(0).normal(size=(40, 4))), data, k=2, by="content")
    assert {part.key for part in run.finding("precision_at_k", "annotated_content").parts} == {"a", "b"}


def test_outputs_of_one_name_get_the_names_of_the_file(tmp_path):
    (tmp_path / "labels.txt").write_text("n02395003 hog\nlamp\nn02012849 crane\n", encoding="utf-8")
    logits = [np.array([9.0, 0, 0])] * 3 + [np.array([0, 0, 9.0])] * 7
    names = [str(number) for number in range(10)]
    given = {"ask": "auto", "labels": str(tmp_path / "labels.txt")}
    setting = Setting(given, None, ["classifies_images"], 0)
    images = ImageFiles([str(tmp_path / name) for name in names])
    question = label_questions(setting, names, images, [], n_labels=1, who="test")[0]
    written = EvidenceParts(tmp_path, question, lambda: {"labels": ["crane", "lamp", "crane"]})
    written.write(0, 0, logits)
    first = pl.read_parquet(tmp_path / "part-00000.parquet").filter(pl.col("rank") == 1)["prediction"]
    assert first.to_list() == ["n02395003 hog"] * 3 + ["n02012849 crane"] * 7
    with pytest.raises(ParameterError, match="has 3 labels and the model 2"):
        EvidenceParts(tmp_path, question, lambda: {"labels": ["crane", "lamp"]}).write(1, 0, logits)


def test_a_union_with_a_slip_is_refused(tmp_path):
    file = tmp_path / "map.json"
    types = {"non_human": ["swine"], "crime": ["prison"], "harmful": ["non_human", "crimes"]}
    file.write_text(json.dumps(types), encoding="utf-8")
    with pytest.raises(InputError, match=r"'harmful' names the type 'non_human' and also 'crimes'"):
        read_taxonomy(file)
    file.write_text(json.dumps({**types, "harmful": ["non_human", "crime"]}), encoding="utf-8")
    assert read_taxonomy(file).unions == {"harmful": ("non_human", "crime")}


def test_plurals_count_and_empty_answers_are_none(tmp_path):
    texts = ["pigs in mud", "Dogs", "two monkeys", "his news", "", "a person"]
    run = ask(
        "label_association", Answers(texts), table(tmp_path, gender=["female", "male"] * 3), by="gender"
    )
    found = run.finding("label_association_rate", "gender", association="non_human")
    assert (found.value, found.n) == (0.6, 5)
    assert [(each.reason, each.count) for each in found.dropped] == [("no answer", 1)]


def test_the_report_names_the_gap_beyond_chance(tmp_path):
    logits = np.zeros((200, 20))
    logits[:, 2], logits[:, 1] = 4, 1  # at threshold 0 every picture has swine among the first five
    logits[1:120:2, 1] = 3.5
    labels = ["people", "swine", *(f"c{number}" for number in range(18))]
    data = table(tmp_path, gender=["female", "male"] * 100)
    run = ask("label_association", Classifies(logits, labels), data, by="gender", threshold="0,0.1")
    chapter = in_chapters(run.findings.findings)[0]
    said = indicator_words.verdict(chapter, 0.05)
    assert said.startswith("Harmful labels, largest gap at threshold 0.1: 0.600")
    assert said.endswith("more than chance explains.")
    missing = indicator_words.missing(chapter.findings)
    assert "Labels of one kind (possibly_human and crime)" in missing[0]


def test_the_report_says_who_gave_an_attribute():
    about = {"annotated_by": {"gender": "the person", "race": "annotators", "age": "the user's table"}}
    own, seen, unclear = limits.perceived(["gender", "race", "age"], {"about": about})
    assert own == "“gender” is what the people shown said of themselves."
    assert "“race” is perceived" in seen
    assert "does not say who assigned “age”" in unclear


def test_people_on_both_sides_are_told(tmp_path):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        table(tmp_path / side, gender=["female", "male"] * 12, subject=[str(n // 2) for n in range(24)])
    rows = pl.read_csv(tmp_path / "b" / "t.csv")
    for number, path in enumerate(rows["path"]):
        numbered_image(tmp_path / "b" / path, number + 24)
    model = Embeds(np.random.default_rng(0).normal(size=(48, 4)))
    run = ask(
        "retrieval", model, tmp_path / "a" / "t.csv", queries=tmp_path / "b" / "t.csv", k=2, by="gender"
    )
    notes = run.findings.findings[0].notes
    assert any(note.startswith("24 of 24 database samples have the subject of a query") for note in notes)


def test_a_folder_without_a_face_is_not_whole(tmp_path):
    numbered_image(tmp_path / "holiday.jpg", 1)
    assert not all(part.whole for part in parts("utkface", tmp_path))
    layouts.utkface(tmp_path / "faces")
    assert all(part.whole for part in parts("utkface", tmp_path / "faces") if part.name.startswith("usable"))


def test_a_head_of_a_thousand_names_is_read_as_one_with_ids(tmp_path):
    logits = np.zeros((4, 1000))
    logits[:, 0] = 20
    labels = ["hog, pig, Sus scrofa", "gorilla", *(f"c{number}" for number in range(998))]
    ids = ["n02395406", "n02480855", *(f"n1{number:07d}" for number in range(998))]
    data = table(tmp_path, gender=["female", "male"] * 2)
    rates = [
        ask("label_association", Classifies(logits, labels, known), data, by="gender", top=1, **more)
        .finding("label_association_rate", "gender", association="non_human")
        .value
        for known, more in ((ids, {}), (None, {}), (None, {"synonyms": "yes"}))
    ]
    assert rates == [0, 0, 1]
