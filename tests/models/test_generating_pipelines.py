"""Pipelines of diffusers: equal prompt and seed give equal images, safety is told, no code is run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from evenhand.core.capabilities import CheckedImage
from evenhand.core.errors import InputError, UserError
from evenhand.models.identity.source import ImageOptions, LoadOptions
from evenhand.models.resolve import resolve
from tests.models.hub.server import COMMIT, Hub, online, serving
from tests.models.test_hf_source import ask
from tests.models.tiny_diffusion import STEPS, build_flow, build_pipeline

PROMPTS = ["a photo of the doctor", "a nurse", "the dog is in the street"]
SEEDS = [11, 12, 13]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("diffusers")
    return build_pipeline(tmp_path_factory.mktemp("pipelines") / "plain")


def source(folder, **options):
    chosen = ImageOptions(**({"steps": STEPS} | options))
    return resolve(f"diffusers:{folder}", LoadOptions(device="cpu", images=chosen))


@pytest.fixture(scope="module")
def model(folder):
    return source(folder).load()


def test_an_image_follows_from_prompt_and_seed_whatever_was_made_before(model):
    alone = [model.generate([prompt], [seed])[0] for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    assert all(image.dtype == np.uint8 and image.shape == (32, 32, 3) for image in alone)
    again = [model.generate([PROMPTS[i]], [SEEDS[i]])[0] for i in (2, 0, 1)]
    for image, other in zip([alone[2], alone[0], alone[1]], again, strict=True):
        assert np.array_equal(image, other)


def test_a_batch_changes_no_more_than_rounding(model):
    alone = [model.generate([prompt], [seed])[0] for prompt, seed in zip(PROMPTS, SEEDS, strict=True)]
    for order in ([0, 1, 2], [2, 1, 0]):
        made = model.generate([PROMPTS[i] for i in order], [SEEDS[i] for i in order])
        for place, image in zip(order, made, strict=True):
            assert np.abs(image.astype(int) - alone[place]).max() <= 1


def test_prompt_and_seed_both_matter(model):
    first, other_seed, other_prompt = model.generate([PROMPTS[0], PROMPTS[0], PROMPTS[1]], [11, 12, 11])
    assert not np.array_equal(first, other_seed)
    assert not np.array_equal(first, other_prompt)


def test_a_model_loaded_anew_makes_the_same_and_settings_matter(folder, model):
    first = model.generate(PROMPTS[:1], SEEDS[:1])[0]
    assert np.array_equal(source(folder).load().generate(PROMPTS[:1], SEEDS[:1])[0], first)
    for options in ({"steps": 3}, {"guidance": 1.5}):
        assert not np.array_equal(source(folder, **options).load().generate(PROMPTS[:1], SEEDS[:1])[0], first)
    assert source(folder, size=48).load().generate(PROMPTS[:1], SEEDS[:1])[0].shape == (48, 48, 3)


@pytest.mark.parametrize(("checker", "flagged"), [("easy", False), ("strict", True)])
def test_what_the_safety_checker_says_is_told(tmp_path, model, checker, flagged):
    made = source(build_pipeline(tmp_path / checker, checker=checker))
    assert made.identity()["safety checker"] == "StableDiffusionSafetyChecker"
    loaded = made.load()
    assert loaded.safety() == {"checker": "StableDiffusionSafetyChecker", "required": "true"}
    for image, plain in zip(loaded.generate(PROMPTS, SEEDS), model.generate(PROMPTS, SEEDS), strict=True):
        assert isinstance(image, CheckedImage)
        assert image.flagged is flagged
        assert np.array_equal(image.pixels, np.zeros_like(plain) if flagged else plain)


def test_identity_tells_settings_and_weights_and_needs_no_torch(folder, tmp_path):
    plain = source(folder).identity()
    assert plain["scheduler"] == "EulerAncestralDiscreteScheduler"
    assert plain["safety checker"] == "none"
    assert (plain["steps"], plain["guidance"], plain["size"]) == (
        "2",
        "the pipeline's own",
        "the pipeline's own",
    )
    assert source(folder, guidance=3.0).identity() != plain
    other = build_pipeline(tmp_path / folder.name, seed=1)
    assert source(other).identity()["sha256"] != plain["sha256"]
    code = (
        "import sys\nfrom evenhand.models.identity.source import LoadOptions\n"
        "from evenhand.models.resolve import resolve\n"
        f"made = resolve('diffusers:{folder}', LoadOptions(device='cpu'))\n"
        "made.identity(), made.capabilities()\n"
        "assert not {'torch', 'diffusers', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_that_are_missing_or_pickled_are_refused(folder, tmp_path):
    from safetensors.numpy import load_file, save_file

    copy = shutil.copytree(folder, tmp_path / "short")
    path = copy / "unet" / "diffusion_pytorch_model.safetensors"
    weights = load_file(path)
    save_file(dict(list(weights.items())[:-3]), path, metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks weights of unet|could not be loaded"):
        source(copy).load()
    path.rename(path.with_name("diffusion_pytorch_model.bin"))
    with pytest.raises(InputError, match="has no weights of unet in safetensors"):
        source(copy).identity()


def test_code_in_a_pipeline_is_never_run(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "own")
    index = json.loads((copy / "model_index.json").read_text())
    evil = f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Own: pass\n"
    (copy / "unet" / "own.py").write_text(evil)
    (copy / "own.py").write_text(evil)
    (copy / "model_index.json").write_text(json.dumps(index | {"unet": ["own", "Own"]}))
    with pytest.raises(UserError, match="needs code of its own"):
        source(copy).load()
    (copy / "unet" / "own.py").unlink()
    with pytest.raises(UserError, match="could not be loaded"):
        source(copy).load()
    (copy / "model_index.json").write_text(json.dumps(index | {"_class_name": ["own", "Own"]}))
    with pytest.raises(UserError, match="needs code of its own"):
        source(copy).identity()
    assert not (tmp_path / "ran").exists()


def test_a_pipeline_without_a_prompt_is_refused(tmp_path):
    diffusers = pytest.importorskip("diffusers")
    unet = diffusers.UNet2DModel(
        sample_size=8, block_out_channels=(8, 8), norm_num_groups=4, layers_per_block=1,
        down_block_types=("DownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    diffusers.DDPMPipeline(unet, diffusers.DDPMScheduler()).save_pretrained(tmp_path / "ddpm")
    with pytest.raises(UserError, match="DDPMPipeline takes no prompt"):
        source(tmp_path / "ddpm").load()


@pytest.mark.parametrize("given", ["./nowhere", "/nowhere", "a/b/c", "org/na me"])
def test_what_names_no_pipeline_is_told(given):
    with pytest.raises(InputError, match="no folder that exists and no hub id"):
        resolve(f"diffusers:{given}")


def test_a_folder_of_another_kind_is_told(tmp_path):
    with pytest.raises(InputError, match=r"there is no .*model_index\.json"):
        resolve(f"diffusers:{tmp_path}").identity()


def test_a_pipeline_of_another_architecture_works_the_same(tmp_path, folder):
    made = source(build_flow(tmp_path / "flux"), size=16)
    assert made.identity()["pipeline"] == "FluxPipeline"
    assert made.identity()["safety checker"] == "none"
    loaded = made.load()
    first, second = (loaded.generate([prompt], [5])[0] for prompt in PROMPTS[:2])
    assert first.shape == (16, 16, 3)
    assert not np.array_equal(first, second)
    assert np.array_equal(loaded.generate(PROMPTS[:1], [5])[0], first)


def test_a_hub_id_fetches_what_is_read_and_nothing_pickled(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "served")
    for name in ("diffusion_pytorch_model.bin", "diffusion_pytorch_model.fp16.safetensors", "own.py"):
        (copy / "unet" / name).write_bytes(b"not for us")
    (copy / "README.md").write_text("words")
    with serving(Hub({"org/pipe": copy})) as hub:
        [(identity, can)] = ask("diffusers:org/pipe", **online(hub, tmp_path / "cache"))
        fetched = {path.partition(f"/{COMMIT}/")[2] for path in hub.fetched}
    assert can == ["generates_images"]
    assert (identity["name"], identity["revision"]) == ("org/pipe", COMMIT)
    assert identity["sha256"] == resolve(f"diffusers:{folder}").identity()["sha256"]
    assert fetched == {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
