"""``hf:``: folders and hub ids, which model it is, and what it can do, before anything heavy is imported."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.errors import UserError
from evenhand.core.registry import load_object
from evenhand.models.adapters.huggingface import families
from evenhand.models.adapters.huggingface.families import family_of, family_of_own_code
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.models.hub.server import COMMIT, Hub, online, serving
from tests.models.tiny import NAMES, build

PROBE = """
import json, sys
from evenhand.core.errors import UserError
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
answers = []
for uri in sys.argv[1:]:
    try:
        source = resolve(uri, LoadOptions(device="cpu"))  # an accelerator is asked for its precision
        again = source.identity()
        answers.append([source.identity(), list(source.capabilities())])
        assert again == source.identity()
    except UserError as problem:
        answers.append(str(problem))
heavy = sorted({"torch", "transformers", "onnxruntime", "torchvision"} & set(sys.modules))
print(json.dumps([answers, heavy]))
"""
NOISE = ("HF_HUB_DISABLE_PROGRESS_BARS", "TRANSFORMERS_VERBOSITY")


def ask(*uris, **variables):
    """Identity and capabilities, or the message, of each URI in a process of its own."""
    command = [sys.executable, "-c", PROBE, *map(str, uris)]
    environment = {key: value for key, value in os.environ.items() if key not in NOISE} | variables
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "libraries keep quiet"
    answers, heavy = json.loads(done.stdout)
    assert heavy == [], "nothing heavy is imported"
    return answers


@pytest.fixture
def clip(tmp_path):
    """A copy of a tiny CLIP that a test may change."""
    return shutil.copytree(build("clip"), tmp_path / "clip")


def test_identity_and_capabilities_import_nothing_heavy():
    answers = ask(*(f"hf:{build(name)}" for name in NAMES))
    for name, (identity, capabilities) in zip(NAMES, answers, strict=True):
        assert identity["name"] == name
        assert identity["revision"] == "local"
        assert len(identity["sha256"]) == 64
        assert identity["dtype"] == "float32"
        assert identity["library"].startswith("transformers ")
        assert set(capabilities) <= set(CAPABILITIES)
        assert capabilities
    assert len({identity["sha256"] for identity, _ in answers}) == len(NAMES)


def test_identity_follows_every_file_that_decides_answers(clip):
    def digest():
        return resolve(f"hf:{clip}").identity()["sha256"]

    seen = [digest()]
    assert digest() == seen[0]
    (clip / "README.md").write_text("words")
    (clip / "trainer_state.json").write_text("{}")
    (clip / "optimizer.bin").write_bytes(b"x")
    assert digest() == seen[0]
    weights = bytearray((clip / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (clip / "model.safetensors").write_bytes(weights)
    seen.append(digest())
    for name in ("config.json", "tokenizer.json", "processor_config.json"):
        (clip / name).write_text((clip / name).read_text() + "\n")
        seen.append(digest())
    assert len(set(seen)) == 5


def test_dtype_is_part_of_the_identity(clip):
    half = resolve(f"hf:{clip}", LoadOptions(dtype="bfloat16")).identity()
    assert half != resolve(f"hf:{clip}").identity()


def test_weights_in_parts_are_hashed_and_loaded(tmp_path, pictures):
    import numpy as np
    import transformers

    folder = shutil.copytree(build("clip"), tmp_path / "parts")
    (folder / "model.safetensors").unlink()
    transformers.CLIPModel.from_pretrained(build("clip")).save_pretrained(folder, max_shard_size="50KB")
    parts = sorted(folder.glob("model-*.safetensors"))
    assert len(parts) > 1
    source, whole = resolve(f"hf:{folder}"), resolve(f"hf:{build('clip')}")
    model, reference = source.load(), whole.load()
    prepared = [model.prepare(picture) for picture in pictures]
    assert np.array_equal(model.embed_images(prepared), reference.embed_images(prepared))
    before = source.identity()["sha256"]
    content = bytearray(parts[-1].read_bytes())
    content[-1] ^= 1
    parts[-1].write_bytes(content)
    assert resolve(f"hf:{folder}").identity()["sha256"] != before
    parts[-1].unlink()
    with pytest.raises(UserError, match=f"lacks {parts[-1].name}"):
        resolve(f"hf:{folder}").identity()


def test_a_folder_is_found_as_the_user_writes_it(clip, monkeypatch):
    monkeypatch.chdir(clip.parent)
    monkeypatch.setenv("HOME", str(clip.parent))
    expected = resolve(f"hf:{clip}").identity()
    for written in ("./clip", "clip", "~/clip", "../" + clip.parent.name + "/clip"):
        assert resolve(f"hf:{written}").identity() == expected
        assert resolve(f"hf:{written}").uri == f"hf:{written}"


@pytest.mark.parametrize("rest", ["./nothing", "~/nothing", "/nothing/here"])
def test_a_folder_that_does_not_exist_is_told(rest):
    with pytest.raises(UserError, match=r"there is no folder.*give an existing folder or org/name"):
        resolve(f"hf:{rest}")


@pytest.mark.parametrize("rest", ["a/b/c", "org/na me", "org/", "@main"])
def test_what_is_no_hub_id_is_told(rest):
    with pytest.raises(UserError, match=r"no hub id; give org/name, org/name@revision or a folder"):
        resolve(f"hf:{rest}")


def test_a_folder_without_weights_says_which_are_read(clip):
    (clip / "model.safetensors").rename(clip / "tf_model.h5")
    for asked in (resolve(f"hf:{clip}").identity, resolve(f"hf:{clip}").load):
        with pytest.raises(UserError, match=r"no weights that are read.* it has tf_model\.h5; save it"):
            asked()


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "has no config.json"), ("{", "is no JSON"), ("[]", "is no JSON object")],
)
def test_a_broken_config_is_told(clip, content, message):
    (clip / "config.json").unlink() if content is None else (clip / "config.json").write_text(content)
    with pytest.raises(UserError, match=message):
        resolve(f"hf:{clip}").capabilities()


def test_weights_that_are_cut_short_are_told_in_one_line(clip):
    weights = (clip / "model.safetensors").read_bytes()
    (clip / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(UserError, match="is no safetensors file") as told:
        resolve(f"hf:{clip}").load()
    assert "\n" not in str(told.value)


def test_loading_says_nothing_where_it_goes_well():
    code = f"from evenhand.models.resolve import resolve; resolve('hf:{build('flava')}').load()"
    environment = {key: value for key, value in os.environ.items() if key not in NOISE}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_torchvision_that_does_not_fit_is_named(monkeypatch):
    broken = RuntimeError("operator torchvision::nms does not exist")

    def fail(*_):
        raise ModuleNotFoundError("Could not import module 'CLIPModel'") from broken

    monkeypatch.setattr("evenhand.models.adapters.huggingface.source.load_object", lambda _: fail)
    with pytest.raises(UserError, match=r"torchvision::nms does not exist; .*pip uninstall torchvision"):
        resolve(f"hf:{build('clip')}").load()


def test_too_little_memory_to_load_is_named(monkeypatch):
    import torch

    def fail(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("evenhand.models.adapters.huggingface.source.load_object", lambda _: fail)
    with pytest.raises(UserError, match=r"CUDA out of memory\.; choose --dtype bfloat16, or --device cpu"):
        resolve(f"hf:{build('clip')}").load()


def test_an_unknown_model_type_lists_the_possible_ones(clip):
    (clip / "config.json").write_text('{"model_type": "bert", "architectures": ["BertForMaskedLM"]}')
    with pytest.raises(UserError, match=r"no adapter answers.*BertForMaskedLM.*clip.*FILE\.py:object"):
        resolve(f"hf:{clip}").capabilities()


def test_code_that_only_transformers_finds_is_refused_in_our_words(clip):
    named = {"AutoConfig": "odd.Config", "AutoModelForImageClassification": "odd.Odd"}
    config = {"model_type": "odd", "architectures": ["OddForImageClassification"], "auto_map": named}
    (clip / "config.json").write_text(json.dumps(config))
    (clip / "odd.py").write_text("raise RuntimeError('it ran')")
    with pytest.raises(UserError, match=r"code of their own, .*add: --trust-remote-code$") as problem:
        resolve(f"hf:{clip}").load()
    assert "trust_remote_code" not in str(problem.value)
    assert "it ran" not in str(problem.value)


def test_code_of_the_repository_runs_only_when_asked(clip):
    config = {
        "model_type": "strange",
        "architectures": ["Strange"],
        "auto_map": {"AutoConfig": "strange.Config", "AutoModelForImageClassification": "strange.Strange"},
    }
    (clip / "config.json").write_text(json.dumps(config))
    (clip / "strange.py").write_text("raise RuntimeError('it ran')")
    with pytest.raises(UserError, match=r"runs code of its own.*--trust-remote-code"):
        resolve(f"hf:{clip}").load()
    trusting = resolve(f"hf:{clip}", LoadOptions(trust_remote_code=True))
    assert trusting.capabilities() == families.CLASSIFIER.capabilities
    before = trusting.identity()["sha256"]
    (clip / "strange.py").write_text("raise RuntimeError('it ran again')")
    changed = resolve(f"hf:{clip}", LoadOptions(trust_remote_code=True))
    assert changed.identity()["sha256"] != before, "code decides answers too"
    with pytest.raises(UserError, match="it ran again"):
        changed.load()


@pytest.mark.parametrize(
    ("config", "family"),
    [
        ({"model_type": "blip", "architectures": ["BlipForConditionalGeneration"]}, families.BLIP),
        ({"model_type": "blip", "architectures": ["BlipForImageTextRetrieval"]}, families.BLIP_RETRIEVAL),
        ({"model_type": "blip-2", "architectures": ["Blip2ForConditionalGeneration"]}, families.BLIP2),
        ({"model_type": "vit", "architectures": ["ViTForImageClassification"]}, families.CLASSIFIER),
        ({"model_type": "vit", "architectures": ["ViTModel"]}, families.FEATURES),
        ({"model_type": "clip", "architectures": ["CLIPModel"]}, families.DUAL_ENCODER),
        ({"model_type": "clip", "architectures": ["CLIPForImageClassification"]}, families.CLASSIFIER),
        ({"model_type": "flava", "architectures": ["FlavaForPreTraining"]}, families.DUAL_ENCODER),
        ({"model_type": "qwen2_5_vl"}, families.CHAT),
        (
            {"model_type": "tomorrow", "architectures": ["NewForConditionalGeneration"], "vision_config": {}},
            families.CHAT,
        ),
        ({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}, None),
        ({"model_type": "vilt", "architectures": ["ViltForQuestionAnswering"]}, None),
        ({"model_type": "segformer", "architectures": ["SegformerForSemanticSegmentation"]}, None),
        ({}, None),
    ],
)
def test_the_family_is_read_from_the_config(config, family):
    assert family_of(config) == family


def test_own_code_tells_its_family_by_what_it_registers():
    assert family_of_own_code({"auto_map": {"AutoModelForCausalLM": "a.B"}}) == families.CHAT
    towers = {"auto_map": {"AutoModel": "a.B"}, "text_config": {}, "vision_config": {}}
    assert family_of_own_code(towers) == families.DUAL_ENCODER
    assert family_of_own_code({"auto_map": {"AutoConfig": "a.B"}}) is None


def test_every_family_has_an_adapter_and_known_capabilities():
    known = {*families.MODEL_TYPES.values(), *families.ARCHITECTURES.values(), families.CLASSIFIER}
    for family in known:
        assert isinstance(load_object(family.adapter), type)
        order = [name for name in CAPABILITIES if name in family.capabilities]
        assert list(family.capabilities) == order


def test_every_model_type_is_one_that_transformers_knows():
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    assert set(families.MODEL_TYPES) <= set(CONFIG_MAPPING_NAMES)


def test_a_hub_id_is_fetched_once_without_pickles_and_then_read_offline(clip, tmp_path):
    (clip / "pytorch_model.bin").write_bytes(b"pickled")
    (clip / "README.md").write_text("words")
    with serving(Hub({"org/clip": clip})) as hub:
        settings = online(hub, tmp_path / "cache")
        (identity, capabilities), again = ask("hf:org/clip", "hf:org/clip@main", **settings)
        assert again == [identity, capabilities]
        fetched = [path.rpartition("/")[2] for path in hub.fetched]
    wanted = {file.name for file in clip.iterdir()} - {"pytorch_model.bin", "README.md"}
    assert sorted(fetched) == sorted(wanted), "each file once"
    assert (identity["name"], identity["revision"]) == ("org/clip", COMMIT)
    assert identity["sha256"] == resolve(f"hf:{clip}").identity()["sha256"]
    offline = {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    assert ask("hf:org/clip", f"hf:org/clip@{COMMIT}", **offline) == [[identity, capabilities]] * 2


def test_troubles_with_the_hub_are_told_in_one_line(clip, tmp_path):
    served = {"org/clip": clip, "org/gated": clip}
    with serving(Hub(served, gated={"org/gated": 401})) as hub:
        uris = ["hf:org/nothing", "hf:org/clip@v9", "hf:org/gated"]
        unknown, revision, gated = ask(*uris, **online(hub, tmp_path / "cache"))
    assert "the hub shows no 'org/nothing'; check name and revision" in unknown
    assert "the hub shows no 'org/clip@v9'" in revision
    assert "'org/gated' is gated: accept its terms at https://huggingface.co/org/gated" in gated
    [cut] = ask("hf:org/other", **online(hub, tmp_path / "cache"))
    [offline] = ask("hf:org/other", HF_HOME=str(tmp_path / "cache"), HF_HUB_OFFLINE="1")
    for message in (cut, offline):
        assert "not complete in the local cache and the hub cannot be reached" in message
        assert "hf download org/other" in message
    assert not any("\n" in message for message in (unknown, revision, gated, cut, offline))
