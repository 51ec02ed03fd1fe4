"""CLIP ViT-B/32 in the layout in which it was first published, real in all but the width of its layers."""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.conftest import SHARED
from tests.helpers import Later
from tests.models.conftest import make_pictures
from tests.models.hub.layouts import OLD_IMAGES, write

torch = pytest.importorskip("torch")
hf = pytest.importorskip("transformers")
open_clip = Later("open_clip")

WIDTH = 16
LAYERS = {"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 1}
ODD = [
    "", " ", "A  photo\tof\n a Nurse.", "she's, they'll; it'd", "12345 6-7 8.9%", "naïve café Ångström",
    "日本語 текст عربى", "emoji 👩‍⚕️!", "x" * 300, "word " * 200, "UPPER lower MiXed_case-ish #tag",
]  # fmt: skip


def save_tokenizer(folder: Path) -> None:
    """vocab.json and merges.txt from the list that open_clip ships, as the conversion of CLIP made them."""
    file = Path(open_clip.tokenizer.default_bpe())
    lines = gzip.decompress(file.read_bytes()).decode("utf-8").split("\n")[1 : 49152 - 256 - 2 + 1]
    letters = list(open_clip.tokenizer.bytes_to_unicode().values())
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), *("".join(line.split()) for line in lines)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    write(folder / "vocab.json", {token: number for number, token in enumerate(tokens)})
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *lines, ""]), encoding="utf-8")
    names = {
        "bos_token": tokens[-2],
        "eos_token": tokens[-1],
        "pad_token": tokens[-1],
        "unk_token": tokens[-1],
    }
    kind = {
        "tokenizer_class": "CLIPTokenizer",
        "model_max_length": 77,
        "do_lower_case": True,
        "errors": "replace",
    }
    write(folder / "tokenizer_config.json", {**names, **kind, "add_prefix_space": False})
    write(folder / "special_tokens_map.json", names)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """The loaded model; 49,408 tokens, 77 places, images of 224 pixels in patches of 32."""
    folder = tmp_path_factory.mktemp("full") / "clip"
    folder.mkdir()
    save_tokenizer(folder)
    old = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    text = {**LAYERS, **old, "vocab_size": 49408, "max_position_embeddings": 77}
    vision = {**LAYERS, "image_size": 224, "patch_size": 32}
    config = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=WIDTH)
    config.architectures = ["CLIPModel"]
    config.save_pretrained(folder)
    torch.manual_seed(0)
    torch.save(hf.CLIPModel(config).state_dict(), folder / "pytorch_model.bin")
    write(folder / "preprocessor_config.json", OLD_IMAGES | {"size": 224, "crop_size": 224})
    assert not (folder / "tokenizer.json").exists()
    return resolve(f"hf:{folder}", LoadOptions(device="cpu")).load()


def texts_of_the_papers() -> list[str]:
    """Captions of VisoGender; phrases and words of MMBias, where its release lies beside the project."""
    captions = [
        f"The {occupation} and {pronoun} {other}"
        for occupation, entry in OCCUPATIONS.items()
        for pronoun, other in product(("his", "her", "their"), (entry.object, entry.participant))
    ]
    release = SHARED / "data" / "mmbias" / "textual_phrases.txt"
    phrases = json.loads(release.read_text(encoding="utf-8")).values() if release.is_file() else []
    return captions + [phrase for group in phrases for phrase in group]


def test_tokens_are_those_of_open_clip(clip):
    texts = [*texts_of_the_papers(), *ODD]
    expected = open_clip.get_tokenizer("ViT-B-32")(texts).numpy()
    assert expected.shape == (len(texts), 77)
    tokens = clip._texts.batch(texts)
    for text, ids, mask, row in zip(
        texts, tokens["input_ids"].numpy(), tokens["attention_mask"].numpy(), expected, strict=True
    ):
        length = int(mask.sum())
        assert ids[:length].tolist() == row[:length].tolist(), text
        assert row[length:].sum() == 0, text


def test_pixels_are_those_of_open_clip(clip):
    settings = open_clip.transform.PreprocessCfg(size=224)
    transform = open_clip.transform.image_transform_v2(settings, is_train=False)
    rng = np.random.default_rng(0)
    shapes = [(480, 640), (500, 333), (224, 224), (97, 301), (1000, 225), (225, 224)]
    images = [rng.integers(0, 256, (*shape, 3), dtype=np.uint8) for shape in shapes]
    for image in [*images, *make_pictures(4)]:
        np.testing.assert_array_equal(clip.prepare(image), transform(Image.fromarray(image)).numpy())
    assert np.isfinite(clip.embed_images([clip.prepare(images[0])])).all()
