"""Files of the original code with their known flaws: read, or refused in one line."""

import json

import pytest

import evenhand as eh
from evenhand import metrics
from evenhand.benchmarks.visogender.data.captions import OCC_FIRST, PAR_FIRST
from evenhand.benchmarks.visogender.data.settings import choices_of, with_pairing
from evenhand.benchmarks.visogender.original_code import json_files as upstream
from evenhand.core.errors import InputError, UnknownName
from tests.benchmarks import original_files

PRONOUNS = {"his": 0.34, "her": 0.33, "their": 0.33}


def pair(occ="man", par="woman", **more):
    return {
        "sector": "education", "specialisation": "institutional", "occ": "teacher", "occ_gender": occ,
        "par": "student", "par_gender": par, "logits_list_occ_first": dict(PRONOUNS),
        "logits_list_par_first": dict(PRONOUNS), "experiment": "CLIP", "model_name": "clip",
        "context": "context_OP", **more,
    }  # fmt: skip


def single(occ="feminine", **more):
    return {
        "sector": "service", "specialisation": "food_service", "occ": "baker", "occ_gender": occ,
        "obj": "mixing_spoon", "logits_list_obj": dict(PRONOUNS), "experiment": "CLIP",
        "model_name": "clip", "context": "context_OO", **more,
    }  # fmt: skip


def saved(folder, content, name="clip_clip_ContextOP.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_labels_may_be_mixed_and_samples_missing(tmp_path):
    two = saved(tmp_path, {"OP_1": pair("masculine", "woman"), "OP_7": pair("woman", "feminine")})
    one = saved(tmp_path, {"OO_180": single()}, "clip_clip_ContextOO.json")
    found = upstream.read_resolution(two, one)
    assert (found.experiment, found.model, found.candidates) == ("CLIP", "clip", ("his", "her", "their"))
    rows = {row["sample"]: row for row in with_pairing(found.samples).iter_rows(named=True)}
    assert [rows[s]["gender_pair"] for s in ("OP_1", "OP_7", "OO_180")] == ["mf", "ff", "f"]
    assert [rows[s]["pairing"] for s in ("OP_1", "OP_7", "OO_180")] == ["different", "same", "single"]
    assert (rows["OO_180"]["object"], rows["OO_180"]["object_written"]) == ("mixing spoon", "mixing_spoon")
    assert found.scores.height == 3 * 5
    flipped = choices_of(found.scores, found.samples, template=PAR_FIRST)
    assert flipped.table["truth"].to_list() == ["feminine", "feminine"]
    assert metrics.resolution_accuracy(flipped, inference="none").params["template"] == "par_first"


def test_a_score_that_is_no_number_drops_the_sample(tmp_path):
    lists = {"his": None, "her": float("nan"), "their": 0.3}
    path = saved(tmp_path, {"OP_1": pair(logits_list_occ_first=lists), "OP_2": pair()})
    found = upstream.read_resolution(path)
    choices = choices_of(found.scores, found.samples)
    assert choices.reason.drop_nulls().to_list() == ["missing score"]
    assert list(original_files.resolution_records(found, "two_person")) == ["OP_2"]
    short = saved(tmp_path, {"OP_1": pair(), "OP_2": pair(logits_list_par_first={"his": 1, "their": 2})})
    found = upstream.read_resolution(short)
    assert choices_of(found.scores, found.samples, template=OCC_FIRST).table.height == 2
    assert choices_of(found.scores, found.samples, template=PAR_FIRST).table.height == 1


def older(record, *names):
    """A record as preliminary files have it: other names of two columns, flags beside."""
    renamed = {"sector": "main_cat", "specialisation": "sub_cat"}
    flags = {"neutral_check_occ_first": False, "match_truth_occ_first": True}
    return {renamed.get(key, key): value for key, value in record.items() if key not in names} | flags


def test_preliminary_results_are_read_too(tmp_path):
    one = saved(tmp_path, {"OO_1": older(single())}, "clip_clip_augmented_ContextOO.json")
    found = upstream.read_resolution(one)
    assert found.samples.select("sector", "specialisation").row(0) == ("service", "food_service")


def test_older_files_say_experiment_and_model_once_on_top(tmp_path):
    on_top = ("experiment", "model_name", "context")
    record = {key: value for key, value in pair().items() if key not in on_top}
    path = saved(
        tmp_path, {"experiment": "CLIP", "model_name": "old", "context": "context_OP", "OP_1": record}
    )
    found = upstream.read_resolution(path)
    assert (found.experiment, found.model, found.samples["sample"].to_list()) == ("CLIP", "old", ["OP_1"])
    assert found.scores.height == 6


def outputs(folder):
    """``results`` as the original code fills it: two models, their benchmark files, a preliminary file."""
    below = folder / "results" / "model_outputs"
    below.mkdir(parents=True)
    for model, experiment in (("clip", "CLIP"), ("blipv2", "CAPTIONING")):
        facts = {"experiment": experiment, "model_name": model}
        stem = f"{experiment.lower()}_{model}"
        saved(below, {"OP_1": pair(**facts), "OP_2": pair("woman", **facts)}, f"{stem}_ContextOP.json")
        saved(below, {"OO_1": single(**facts)}, f"{stem}_ContextOO.json")
    saved(below, {"OO_1": older(single())}, "clip_clip_augmented_ContextOO.json")
    for model in ("clip", "slip"):
        saved(below, {"teacher": pool()}, f"retrieval_bias_{model}_occ_first_ContextOP.json")
    saved(below.parent, {"metadata": {}}, "benchmark_results_clip_clip.json")
    return folder / "results"


@pytest.mark.parametrize("below", ["", "model_outputs"])
def test_the_original_codes_own_folder_is_read_one_model_of_several(tmp_path, below):
    folder = outputs(tmp_path) / below
    for model in ("clip", "blipv2"):
        run = eh.score("visogender/resolution", evidence=folder, parameters={"model": model})
        assert (run.manifest["model"], run.manifest["rows"]) == (model, 3)
    ranked = eh.score("visogender/retrieval", evidence=folder, parameters={"model": "slip"})
    assert ranked.manifest["model"] == "slip"
    with pytest.raises(InputError, match="choose it, such as -p model=blipv2"):
        eh.score("visogender/resolution", evidence=folder)
    with pytest.raises(InputError, match="choose it: -p model=clip"):
        eh.score("visogender/retrieval", evidence=folder)
    for benchmark in ("resolution", "retrieval"):
        with pytest.raises(UnknownName, match="clip"):
            eh.score(f"visogender/{benchmark}", evidence=folder, parameters={"model": "clipp"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no whole JSON file"),
        ('{"OP_1": {"sector": "ed', "no whole JSON file"),
        ('{"OP_1": {}, "OP_1": {}}', "'OP_1' stands twice"),
        ("[1, 2]", "no JSON object of records"),
        ({"OP_1": 3}, "OP_1: not a record"),
        ({}, "no record; give the model outputs"),
        ({"OP_1": {k: v for k, v in pair().items() if k != "occ"}}, "OP_1: no occ;"),
        ({"OP_1": pair(occ="mann")}, "'mann' is no known label; write masculine or feminine"),
        ({"OP_1": pair(occ=3)}, "OP_1: no occ_gender"),
        ({"OP_1": pair(logits_list_par_first={})}, "no logits_list_par_first"),
        ({"OP_1": pair(logits_list_occ_first={"his": "0.3"})}, "'0.3' is no number"),
        ({"OP_1": pair(logits_list_occ_first={"his": True})}, "'True' is no number"),
        ({"OP_1": pair(experiment="BLIP")}, "experiment 'BLIP' is not known; write CLIP or CAPTIONING"),
        ({"OP_1": pair(), "OP_2": pair(model_name="other")}, "give files of one model"),
        (
            {"OP_1": pair(), "OP_2": pair(logits_list_occ_first={"her": 1, "his": 1, "their": 1})},
            "OP_2 lists her, his, their.* decides ties",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, content, message):
    path = saved(tmp_path, content)
    with pytest.raises(InputError, match=message) as refused:
        upstream.read_resolution(path)
    assert "\n" not in str(refused.value)


def test_files_that_do_not_exist_or_overlap_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        upstream.read_resolution(tmp_path / "nothing.json")
    one = saved(tmp_path, {"OP_1": pair()})
    with pytest.raises(InputError, match="OP_1 stands in several files"):
        upstream.read_resolution(one, one)


def pool(**more):
    return {
        "sector": "education", "specialisation": "institutional", "occ": "teacher",
        "occ_genders": ["man", "masculine", "feminine"], "par": "student", "error": False,
        "logits_list": [0.3, 0.4, 0.3], **more,
    }  # fmt: skip


def test_retrieval_scores_are_read_by_position(tmp_path):
    broken = pool(error=True)
    del broken["logits_list"]
    name = original_files.retrieval_name("clip", "par_first", "two_person")
    found = upstream.read_retrieval(saved(tmp_path, {"teacher": pool(), "baker": broken}, name))
    assert (found.context, found.template) == ("two_person", "par_first")
    assert dict(found.dropped) == {"error in the original run": 1}
    assert found.table["sample"].to_list() == ["teacher/1", "teacher/2", "teacher/3"]
    assert found.table["occupation_perceived_gender"].to_list() == ["masculine", "masculine", "feminine"]
    assert found.table["score"].to_list() == [0.3, 0.4, 0.3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"teacher": pool(logits_list=[1])}, "3 occ_genders but 1 logits_list"),
        ({"teacher": pool(logits_list=None)}, "no logits_list"),
        ({"teacher": pool(occ_genders=["man", "?", "man"])}, "'?' is no known label"),
        ({"teacher": pool(logits_list=["a", 1, 2])}, "'a' is no number"),
        ({}, "no retrieval scores of one context"),
        ({"teacher": pool(), "baker": pool(obj="spoon")}, "no retrieval scores of one context"),
    ],
)
def test_wrong_retrieval_files_are_refused(tmp_path, content, message):
    with pytest.raises(InputError) as refused:
        upstream.read_retrieval(saved(tmp_path, content))
    assert message in str(refused.value)
