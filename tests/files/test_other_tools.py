"""Files of other tools: the same numbers as from a plain table, and what is refused says what to type.

The files in other_tools were written by lm_eval 0.4.13 (``--log_samples``) and inspect_ai 0.3.285 for data of
our own; of the logs of inspect_ai events and tracebacks were taken out. Equal counts give equal findings.
"""

from __future__ import annotations

import json
import zipfile
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from sklearn.metrics import confusion_matrix

import evenhand as eh
from evenhand.core.errors import InputError, UnknownName, UserError
from evenhand.files.zstandard import decompressed_lines, largest_size
from evenhand.workflows.audit import audit_table
from evenhand.workflows.compare.runs import ComparedRun
from tests.cli.test_audit import type_in
from tests.documents.reading import DOCS, blocks_of

FOLDER = Path(__file__).parent / "other_tools"
CHOICE, TEXT = FOLDER / "samples_jobs_choice.jsonl", FOLDER / "samples_jobs_text.jsonl"
LETTERS, EPOCHS = FOLDER / "jobs_choice.eval", FOLDER / "jobs_text.json"
JOBS = ["nurse", "pilot", "baker"]
GENDERS = ["woman", "man"]


def same(read: eh.Predictions, plain: pl.DataFrame, *by: str, **columns: str) -> bool:
    """Whether the counts are those of a plain table; its first two columns are truth and prediction."""
    truth, prediction = plain.columns[:2]
    table = eh.Predictions.from_frame(plain, truth=truth, prediction=prediction, **columns)
    return read.count(by) == table.count(by)


def logged(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def likeliest(sample: dict) -> str:
    values = [float(value) for value, _ in sample["filtered_resps"]]
    return sample["doc"]["choices"][values.index(max(values))]


@pytest.mark.parametrize(
    ("source", "path", "answers"),
    [
        ("lm-eval", CHOICE, lambda: [likeliest(sample) for sample in logged(CHOICE)]),
        (
            "lm-eval:word",
            TEXT,
            lambda: [s["filtered_resps"][0] for s in logged(TEXT) if s["filter"] == "word"],
        ),
    ],
)
def test_samples_of_lm_eval_are_those_of_a_plain_table(source, path, answers):
    plain = pl.DataFrame(
        {
            "job": [JOBS[i % 3] for i in range(36)],
            "said": answers(),
            "doc.gender": [GENDERS[i // 3 % 2] for i in range(36)],
        }
    )
    read = eh.Predictions.read_from(source, path)
    assert same(read, plain, "doc.gender")
    graded = eh.Predictions.read_from(source, path, truth="expected", prediction="graded").count()
    right = plain.filter(pl.col("job") == pl.col("said")).height
    assert graded.to_frame().filter(pl.col("prediction") == "right")["n"].sum() == right  # as the tool scored


def test_a_log_of_inspect_is_a_plain_table_and_failed_samples_are_counted():
    answers = "ACCABAA-AABCABCABCABCAAC"  # as inspect_ai.log.read_eval_log has them
    plain = pl.DataFrame(
        {
            "right": list("ABC" * 8),
            "said": [None if letter == "-" else letter for letter in answers],
            "metadata.gender": [GENDERS[i // 3 % 2] for i in range(24)],
            "metadata.person.age": [["young", "old"][i % 2] for i in range(24)],
        }
    )
    read = eh.Predictions.read_from("inspect", LETTERS)
    assert same(read, plain, "metadata.gender", "metadata.person.age")
    assert read.notes == (
        "1 sample of 24 without a score (1 of all ended with an error): without a prediction",
    )


def test_choices_of_inspect_have_texts():
    read = eh.Predictions.read_from("inspect", LETTERS, truth="target_choice", prediction="answer_choice")
    assert read.count().axis("truth").levels == tuple(sorted(JOBS))


def test_epochs_of_a_sample_are_one_cluster():
    log = json.loads(EPOCHS.read_text(encoding="utf-8"))
    plain = pl.DataFrame(
        {
            "right": [sample["target"] for sample in log["samples"]],
            "said": [sample["scores"]["match"]["answer"] for sample in log["samples"]],
            "metadata.gender": [sample["metadata"]["gender"] for sample in log["samples"]],
            "id": [sample["id"] for sample in log["samples"]],
        }
    )
    read = eh.Predictions.read_from("inspect:match", EPOCHS)
    assert (len(log["samples"]), read.cluster) == (12, "id")
    assert same(read, plain, "metadata.gender", cluster="id")


def annotations(boxes: bool) -> dict:
    """24 images with an object each; with boxes image 0 has a second one and a crowd."""
    box = {"bbox": [0, 0, 10, 10]} if boxes else {}
    records = [
        {"id": 100 + i, "image_id": i, "category_id": 1 + i % 3, "iscrowd": 0} | box for i in range(24)
    ]
    for record in records:
        record["skin"] = ["dark", "light"][record["image_id"] // 3 % 2]
    if boxes:
        records.append(records[0] | {"id": 200, "category_id": 2, "bbox": [20, 20, 4, 4]})
        records.append(records[0] | {"id": 201, "iscrowd": 1})
    return {
        "info": {"year": 2026},
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 40, "height": 40} for i in range(24)],
        "annotations": records,
        "categories": [{"id": 1 + i, "name": name, "supercategory": "job"} for i, name in enumerate(JOBS)],
    }


def results(boxes: bool) -> list[dict]:
    """The right category in two of three images; a lower score, and with boxes one far away, never count."""
    rows = []
    for i in range(24):
        right, box = 1 + (i + (i % 5 == 0)) % 3, {"bbox": [1, 1, 10, 10]} if boxes else {}
        rows.append({"image_id": i, "category_id": 1 + (right + 1) % 3, "score": 0.3} | box)
        rows.append({"image_id": i, "category_id": right, "score": 0.9} | box)
        if boxes:
            rows.append({"image_id": i, "category_id": right, "score": 0.99, "bbox": [30, 30, 5, 5]})
    return rows


def test_results_of_coco_are_those_of_a_plain_table(tmp_path):
    beside = write(tmp_path / "instances.json", annotations(boxes=False))
    read = eh.Predictions.read_from(f"coco:{beside}", write(tmp_path / "results.json", results(boxes=False)))
    plain = pl.DataFrame(
        {
            "right": [JOBS[i % 3] for i in range(24)],
            "said": [JOBS[(i + (i % 5 == 0)) % 3] for i in range(24)],
            "annotation.skin": [["dark", "light"][i // 3 % 2] for i in range(24)],
        }
    )
    assert same(read, plain, "annotation.skin")
    assert [Path(other.path).name for other in read.origin.beside] == ["instances.json"]


def test_with_boxes_each_object_has_the_detection_that_overlaps_it(tmp_path):
    beside = write(tmp_path / "instances.json", annotations(boxes=True))
    read = eh.Predictions.read_from(f"coco:{beside}", write(tmp_path / "results.json", results(boxes=True)))
    rows = read.frame.collect().to_native()
    assert rows.height == 25  # the crowd is left out
    assert rows.filter(pl.col("annotation_id") == 200)["answer"].item() == "(not detected)"
    answers = rows.filter(pl.col("annotation_id") < 200)["answer"].to_list()
    assert answers == [JOBS[(i + (i % 5 == 0)) % 3] for i in range(24)]
    assert read.cluster == "image_id"
    assert read.notes == ("48 detections of no annotated object: in no row", "1 crowd left out")


def test_a_log_with_groups_of_a_table_is_audited_as_a_plain_table(tmp_path):
    ages = {f"photo-{i:02d}": ["young", "old"][i // 3 % 2] for i in range(33)}
    people = pl.DataFrame({"photo": list(ages), "age": list(ages.values()), "acc": ["-"] * 33})
    people.write_csv(tmp_path / "people.csv")
    joined = {"source": "lm-eval", "groups": str(tmp_path / "people.csv"), "on": "doc.photo=photo"}
    columns = dict.fromkeys(("truth", "prediction"))
    run = audit_table(str(CHOICE), columns=columns, by=["age"], **joined)
    assert "3 of 36 rows are not in" in run.manifest["warnings"][0]
    plain = pl.DataFrame(
        {
            "job": [JOBS[i % 3] for i in range(36)],
            "said": [likeliest(sample) for sample in logged(CHOICE)],
            "age": [ages.get(f"photo-{i:02d}") for i in range(36)],
        }
    )
    expected = eh.audit(plain, by="age", truth="job", prediction="said")
    assert run.findings.findings == expected.findings.findings
    source = run.manifest["source"]
    assert (source["path"], source["format"]) == (str(CHOICE), "lm-eval")
    assert source["beside"][0]["path"] == str(tmp_path / "people.csv")
    rows = ComparedRun("first", run).rows(["age"])  # read again, so that two models' logs can be paired
    assert rows.select("prediction", "age").equals(plain.select(prediction="said", age="age"))
    assert rows["sample"].to_list() == [str(i) for i in range(36)]
    people.head(20).write_csv(tmp_path / "people.csv")
    assert "has changed since" in ComparedRun("first", run).rows(["age"])
    read = eh.Predictions.read_from("lm-eval", CHOICE).with_groups(people, on="doc.photo=photo")
    assert {"acc", "groups.acc"} <= set(read.columns)


def test_groups_are_joined_to_plain_tables_by_numbers_as_text(tmp_path):
    people = pl.DataFrame({"id": ["0", "1", "2", "3"], "age": ["young", "old"] * 2})
    rows = pl.DataFrame({"id": range(4), "y": list("abab"), "p": list("abba")})
    joined = eh.Predictions.from_frame(rows, truth="y", prediction="p").with_groups(people, on="id")
    frame = joined.count(["age"]).to_frame()
    assert frame.filter(pl.col("attribute:age") == "young")["n"].sum() == 2
    for wrong, message in (
        (people.with_columns(id=pl.lit("0")), "'0' stands 4 times in column 'id' of the groups"),
        (people.with_columns(id=pl.col("id") + "x"), "no row has a group: column 'id' of the predictions"),
    ):
        with pytest.raises(InputError, match=message):
            eh.Predictions.from_frame(rows, truth="y", prediction="p").with_groups(wrong, on="id")


def test_a_metric_frame_with_confusion_matrices_is_counted():
    fairlearn = pytest.importorskip("fairlearn.metrics")
    truth = [JOBS[i % 3] for i in range(36)]
    said = [likeliest(sample) for sample in logged(CHOICE)]
    gender = [GENDERS[i // 3 % 2] for i in range(36)]
    make = partial(fairlearn.MetricFrame, y_true=truth, y_pred=said)
    matrix = partial(confusion_matrix, labels=JOBS)
    counts = eh.Counts.from_metric_frame(
        make(metrics={"n": fairlearn.count, "confusion": matrix}, sensitive_features={"gender": gender}),
        labels=JOBS,
    )
    plain = pl.DataFrame({"truth": truth, "prediction": said, "gender": gender})
    assert counts == eh.Predictions.from_frame(plain, truth="truth", prediction="prediction").count(
        ["gender"]
    )
    with pytest.raises(InputError, match="a MetricFrame keeps no rows; evaluate it again"):
        eh.Counts.from_metric_frame(make(metrics=fairlearn.count, sensitive_features=gender), labels=JOBS)
    with pytest.raises(UserError, match="has 3 rows and there are 2 labels"):
        eh.Counts.from_metric_frame(
            make(metrics={"confusion": matrix}, sensitive_features=gender), labels=JOBS[:2]
        )


def test_the_metric_frame_of_the_page_is_audited():
    pytest.importorskip("fairlearn.metrics")
    (block,) = (block for block in blocks_of(DOCS / "other-tools.md") if block.language == "python")
    names: dict = {}
    exec(block.text, names)  # noqa: S102 - our own page
    assert names["run"].finding("accuracy", "light").value == 0.75


CLIP = {
    "dataset": "wds/fairface", "model": "ViT-B-32", "pretrained": "laion2b_s34b_b79k",
    "task": "zeroshot_classification", "metrics": {"acc1": 0.5, "acc5": 0.9}, "language": "en",
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "content", "message"),
    [
        ("lm-eval", {"results": {}}, "line 1 of .* is no logged sample .* --log_samples"),
        ("inspect", {"version": 2, "eval": {}}, "holds no samples"),
        ("inspect", [], "is no log of inspect_ai"),
        ("lm-eval", logged(CHOICE)[0] | {"doc": {"name": "\ud800"}}, "has another layout of lm-eval"),
        ("lm-eval", logged(CHOICE)[0] | {"arguments": []}, "has another layout of lm-eval"),
        (
            "inspect",
            {"version": 2, "eval": {}, "samples": [{"id": 1, "epoch": 1, "target": "a", "scores": [1]}]},
            "has another layout of inspect",
        ),
        (
            "coco:a.json",
            [{"image_id": 1, "category_id": 1, "score": float("nan")}],
            "is no result file of COCO",
        ),
        ("coco", [], "--from coco:ANNOTATIONS.json"),
        (
            "coco:a.json",
            [{"image_id": 1, "category_id": 1, "score": 1, "segmentation": {}}],
            "add their boxes",
        ),
        ("clip-benchmark", CLIP, "--model openclip:ViT-B-32/laion2b_s34b_b79k"),
        ("clip-benchmark", {}, "is no result of CLIP_benchmark"),
        ("fairlearn", {}, "a MetricFrame keeps metrics of groups, not rows"),
        ("helm", {}, "there is no format 'helm'"),
    ],
)
def test_what_cannot_be_read_says_what_to_give(tmp_path, source, content, message):
    with pytest.raises(UserError, match=message):
        eh.Predictions.read_from(source, write(tmp_path / "file.json", content))


def test_a_log_that_is_read_as_a_table_names_the_option():
    with pytest.raises(InputError, match="--from inspect"):
        eh.Predictions.read(LETTERS, truth="target", prediction="answer")


def test_several_filters_and_scorers_are_chosen_from():
    with pytest.raises(InputError, match="--from lm-eval:first or --from lm-eval:word"):
        eh.Predictions.read_from("lm-eval", TEXT)
    with pytest.raises(InputError, match="--from inspect:match or --from inspect:includes"):
        eh.Predictions.read_from("inspect", EPOCHS)
    with pytest.raises(UnknownName, match="did you mean 'match'"):
        eh.Predictions.read_from("inspect:macth", EPOCHS)


def test_grades_that_labels_do_not_show_are_noted(tmp_path):
    lines = [sample | {"target": sample["target"].upper()} for sample in logged(TEXT)]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (note,) = eh.Predictions.read_from("lm-eval:word", path).notes
    assert "in 25 of 36 rows" in note
    assert "--normalize" in note


@pytest.mark.parametrize("with_doc", [True, False])
def test_a_single_answer_that_lmms_eval_logs_as_plain_text_is_read(tmp_path, with_doc):
    of_word = [sample for sample in logged(TEXT) if sample["filter"] == "word"]
    lines = [
        {"doc_id": s["doc_id"], "input": s["doc"]["question"], "target": s["target"], "filter": "none"}
        | {"filtered_resps": s["filtered_resps"][0], "exact_match": s["exact_match"]}
        | ({"doc": s["doc"]} if with_doc else {})
        for s in of_word
    ]
    path = tmp_path / "20260101_samples_jobs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    read = eh.Predictions.read_from("lm-eval", path)
    plain = eh.Predictions.read_from("lm-eval:word", TEXT)
    answers = [each.frame.collect().to_native()["answer"].to_list() for each in (read, plain)]
    assert answers[0] == answers[1]
    assert None not in answers[0]
    assert ("doc.gender" in read.columns) == with_doc
    assert read.count().n_total == plain.count().n_total == 36


def test_targets_that_are_numbers_name_the_choice_that_the_metric_scored(tmp_path):
    """The choices are 1, 2 and 3, and targets their positions 0, 1 and 2."""
    arguments = {f"gen_args_{choice}": {"arg_0": "Which?", "arg_1": f" {choice + 1}"} for choice in range(3)}
    fixed = {"doc": {}, "arguments": arguments, "metrics": ["acc"], "acc": 1.0}
    lines = [
        fixed
        | {"doc_id": i, "target": str(i % 3)}
        | {"filtered_resps": [[str(-((choice - i % 3) ** 2)), "False"] for choice in range(3)]}
        for i in range(6)
    ]
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    read = eh.Predictions.read_from("lm-eval", path)
    assert read.frame.collect().to_native()["target"].to_list() == ["1", "2", "3"] * 2
    assert read.notes == ()


def frame_of_blocks(*blocks: tuple[int, int, bytes]) -> bytes:
    """A Zstandard frame (RFC 8878): kind, size and content of each block."""
    parts = [b"\x28\xb5\x2f\xfd\x00\x58"]
    for position, (kind, size, content) in enumerate(blocks):
        is_last = position == len(blocks) - 1
        parts += [(is_last | kind << 1 | size << 3).to_bytes(3, "little"), content]
    return b"".join(parts)


def test_texts_that_would_become_huge_are_not_decompressed():
    raw = frame_of_blocks((0, 5, b'{"a":'), (0, 2, b"1}"))
    assert (largest_size(raw), decompressed_lines(raw, 10)) == (7, '{"a":1}')
    bomb = frame_of_blocks(*[(1, 2**17, b"x")] * 10_000)
    assert (len(bomb), largest_size(bomb)) == (40_006, 10_000 * 2**17)
    with pytest.raises(InputError, match="it may become 1,310,720,000 bytes"):
        decompressed_lines(bomb, 2**20)
    for broken in (raw[:-4], raw[:8], b"PK", raw + b"?"):
        with pytest.raises(InputError):
            largest_size(broken)


def test_unsafe_and_damaged_logs_are_refused(tmp_path):
    log = tmp_path / "log.eval"
    for name, content, message in (
        ("../samples/1_epoch_1.json", "{}", "leads outside"),
        ("samples/1_epoch_1.json", "{}", "lacks some of id, epoch, target"),
        ("samples/1_epoch_1.json", "{", "is no JSON"),
        ("other.txt", "", "is no log of inspect_ai"),
    ):
        with zipfile.ZipFile(log, "w") as archive:
            archive.writestr(name, content, zipfile.ZIP_DEFLATED)
        with pytest.raises(InputError, match=message):
            eh.Predictions.read_from("inspect", log)


def test_options_that_do_not_go_together(monkeypatch, capsys):
    for words, message in (
        (["--groups", "people.csv"], "--groups TABLE and --on COL go together"),
        (["--from", "lm-eval", "--engine", "spark"], "leave --engine out"),
        (["--from", "lm-eval", "--rank", "k"], "not for --from"),
    ):
        assert type_in(monkeypatch, "audit", CHOICE, "--by", "doc.gender", *words) == 2
        assert message in capsys.readouterr().err


def test_a_table_is_no_log_of_another_tool():
    with pytest.raises(InputError, match=r"'t.csv' is a table.*leave --from out: evenhand audit t.csv"):
        eh.Predictions.read_from("lm-eval", "t.csv")
