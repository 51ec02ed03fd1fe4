"""Chat models against a naive loop: one image, one text through the processor, one forward pass, a sum."""

import inspect
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import save_file

from evenhand.core.capabilities import capabilities_of
from evenhand.core.errors import ParameterError, UserError
from evenhand.models.adapters.huggingface.language.chat import ChatModel
from evenhand.models.adapters.huggingface.language.continuations import sum_log_probabilities
from evenhand.models.identity.source import LoadOptions
from tests.conftest import ROOT
from tests.models import tiny as shelf
from tests.models import tiny_chat
from tests.models.conftest import make_pictures

COMMON = ("llava", "qwen2_vl", "qwen2_5_vl", "idefics3", "smolvlm", "paligemma")
KINDS = [*(name for name in COMMON if name in shelf.NAMES), *tiny_chat.BUILDERS]
KINDS.remove("mllama")  # answers only
TOWERS = ("vision_tower", "visual", "vision_model")
PREFIXES = ["The doctor and", "a nurse and", "a photo of the teacher and", "the dog", ""]
LONGEST = 16
"""Tokens of an answer, some of which end before; the usual 64 are asserted in ``test_chat_templates``."""

OPTIONS = LoadOptions(device="cpu", max_tokens=LONGEST)
WORDS = [" his", " her patient", " a man is in the street", " their"]

each_kind = pytest.mark.parametrize("name", KINDS)
common_kinds = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in COMMON else pytest.mark.nightly) for name in KINDS]
)
"""By day those that most people have; of all a batch is compared with the naive loop over single images."""


@pytest.fixture(scope="session", autouse=True)
def more_kinds():
    shelf.BUILDERS.update(tiny_chat.BUILDERS)


@pytest.fixture(scope="session")
def opened(tiny):
    made = {}

    def get(name):
        if name not in made:
            made[name] = ChatModel(tiny(name), OPTIONS)
        return made[name]

    return get


class Naive:
    """transformers called directly; ``logits`` are those after prefix + continuation[:j], for each j."""

    def __init__(self, name, folder):
        self.name = name
        self.model = hf.AutoModelForImageTextToText.from_pretrained(folder).eval()
        self.processor = hf.AutoProcessor.from_pretrained(folder)
        self.processor.image_processor = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")
        self.words = self.processor.tokenizer

    def ids(self, text):
        return self.words(text, add_special_tokens=False)["input_ids"]

    def read(self, image, prompt, speech=""):
        image = Image.fromarray(image)
        if self.name == "paligemma":
            text = f"<image>{prompt}"
            suffix = {"suffix": [speech]} if speech else {}
            made = dict(self.processor(images=[image], text=[text], return_tensors="pt", **suffix))
            made.pop("labels", None)
            return made
        content = [{"type": "image"}, {"type": "text", "text": prompt}]
        turn = {"role": "user", "content": content}
        text = self.processor.apply_chat_template([turn], add_generation_prompt=True, tokenize=False)
        text += f" {speech.lstrip()}" if speech else ""  # the space that the template puts before an answer
        return dict(self.processor(images=[[image]], text=[text], return_tensors="pt"))

    def logits(self, image, prefix, continuation):
        instruction = "caption en" if self.name == "paligemma" else "Describe the image."
        made = self.read(image, instruction, prefix + continuation)
        tail = len(self.ids(continuation))
        with torch.no_grad():
            logits = self.model(**made).logits[0]
        # PaliGemma's processor ends what it says with an end token
        logits = logits[:-1] if self.name == "paligemma" else logits
        return logits[-tail - 1 :]

    def score(self, image, prefix, continuation):
        log_p = torch.log_softmax(self.logits(image, prefix, continuation).double(), -1)
        return float(sum(log_p[j, token] for j, token in enumerate(self.ids(continuation))))

    def answer(self, image, prompt):
        made = self.read(image, prompt)
        with torch.no_grad():
            spoken = self.model.generate(**made, do_sample=False, num_beams=1, max_new_tokens=LONGEST)
        return self.words.decode(spoken[0, made["input_ids"].shape[1] :], skip_special_tokens=True).strip()


@pytest.fixture(scope="session")
def naive(tiny):
    made = {}

    def get(name):
        if name not in made:
            made[name] = Naive(name, tiny(name))
        return made[name]

    return get


@each_kind
def test_they_meet_both_capabilities(name, opened):
    assert capabilities_of(opened(name)) == ("scores_continuations", "answers_questions")


@each_kind
def test_scores_equal_the_naive_loop(name, opened, naive, pictures):
    scores = opened(name).score_continuations(pictures, PREFIXES, [WORDS] * 5)
    expected = [
        [naive(name).score(image, prefix, word) for word in WORDS]
        for image, prefix in zip(pictures, PREFIXES, strict=True)
    ]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@each_kind
def test_images_matter(name, opened, pictures):
    scores = opened(name).score_continuations(pictures, ["the doctor and"] * 5, [WORDS] * 5)
    assert np.ptp(scores, axis=0).min() > 1e-3


@each_kind
def test_next_token_logits_equal_the_naive_loop(name, opened, naive, pictures):
    words = ["his", "her", "their patient"]
    logits = opened(name).next_token_logits(pictures, PREFIXES, [words] * 5)
    expected = [
        naive(name).logits(image, prefix, " his")[0, [naive(name).ids(word)[0] for word in words]]
        for image, prefix in zip(pictures, PREFIXES, strict=True)
    ]
    np.testing.assert_allclose(logits, torch.stack(expected), atol=1e-5)


@common_kinds
def test_batches_change_nothing(name, opened, pictures):
    model = opened(name)
    whole = model.score_continuations(pictures, PREFIXES, [WORDS] * 5)
    logits = model.next_token_logits(pictures, PREFIXES, [WORDS] * 5)
    prompts = ["who is in the picture", "the doctor", "what is this", "a", ""]
    answers = model.answer(pictures, prompts)
    for i in (0, 4):  # the longest and the empty text, the smallest and the largest picture
        one = [pictures[i]], [PREFIXES[i]], [WORDS]
        np.testing.assert_allclose(model.score_continuations(*one)[0], whole[i], atol=1e-5)
        np.testing.assert_allclose(model.next_token_logits(*one)[0], logits[i], atol=1e-5)
        assert model.answer([pictures[i]], [prompts[i]]) == [answers[i]]


@each_kind
def test_a_space_may_end_the_prefix_or_begin_the_continuation(name, opened, pictures):
    after = opened(name).score_continuations(pictures[:4], PREFIXES[:4], [WORDS] * 4)
    stripped = [[word.strip() for word in WORDS]] * 4
    before = opened(name).score_continuations(pictures[:4], [f"{text} " for text in PREFIXES[:4]], stripped)
    np.testing.assert_allclose(before, after, atol=1e-5)


@each_kind
def test_one_token_continuations_share_one_certainty(name, opened, pictures):
    model = opened(name)
    size = model._model.get_output_embeddings().out_features
    with torch.inference_mode():
        step = model._read(pictures[:2], PREFIXES[:2], [0, 0])
        log_p = sum_log_probabilities(step, [[[token] for token in range(size)]] * 2)
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, atol=1e-4)
    scores = model.score_continuations(pictures[:2], PREFIXES[:2], [[" his", " their"]] * 2)
    tokens = [model._inputs.words(word)[0] for word in (" his", " their")]
    np.testing.assert_allclose(scores, log_p[:, tokens], atol=1e-5)


@each_kind
def test_images_are_encoded_once(name, opened, pictures):
    model, calls = opened(name), []
    if "mm_encoder_outputs" not in inspect.signature(model._model.forward).parameters:
        pytest.skip("this transformers takes no image that is encoded already")
    parts = dict(model._model.named_modules())
    tower = next(part for path, part in parts.items() if path.rpartition(".")[2] in TOWERS)
    hook = tower.register_forward_hook(lambda *_: calls.append(1))
    try:
        model.score_continuations(pictures, ["the doctor and"] * 5, [WORDS] * 5)
    finally:
        hook.remove()
    assert len(calls) == 1


@common_kinds
def test_older_transformers_that_take_no_encoded_images_give_the_same(name, opened, pictures, monkeypatch):
    model = opened(name)
    scores = model.score_continuations(pictures, PREFIXES, [WORDS] * 5)
    forward = type(model._model).forward

    def older(
        self, input_ids=None, attention_mask=None, pixel_values=None, logits_to_keep=0, **others
    ):  # what 5.0 took
        return forward(self, input_ids, attention_mask=attention_mask, pixel_values=pixel_values,
                       logits_to_keep=logits_to_keep, **others)  # fmt: skip

    monkeypatch.setattr(model._model, "forward", older.__get__(model._model))
    np.testing.assert_allclose(model.score_continuations(pictures, PREFIXES, [WORDS] * 5), scores, atol=1e-5)


@each_kind
def test_logits_are_made_only_where_they_are_wanted(name, opened, pictures):
    model, lengths = opened(name), []
    head = model._model.get_output_embeddings()
    hook = head.register_forward_hook(lambda _, given, __: lengths.append(given[0].shape[1]))
    try:
        model.next_token_logits(pictures[:1] * 3, PREFIXES[:1] * 3, [["his"]] * 3)
    finally:
        hook.remove()
    assert lengths == [1]


@each_kind
def test_answers_equal_transformers_own(name, opened, naive, pictures):
    prompts = ["who is in the picture", "the doctor", "what is this", "a", "is this a man"]
    expected = [naive(name).answer(*pair) for pair in zip(pictures[::2], prompts[::2], strict=True)]
    assert opened(name).answer(pictures, prompts)[::2] == expected


@each_kind
def test_nothing_asked(name, opened):
    assert opened(name).answer([], []) == []
    assert opened(name).score_continuations([], [], []).shape == (0, 0)
    assert opened(name).next_token_logits([], [], []).shape == (0, 0)


def test_paligemma_reads_its_instruction_both_ways_and_speaks_forwards(opened, pictures):
    """A later word of what it says must not change what an earlier one scores."""
    score = opened("paligemma").score_continuations
    alone = score(pictures[:1], ["the doctor and"], [[" his"]])
    others = score(pictures[:1], ["the doctor and"], [[" his", " his patient in the street"]])
    np.testing.assert_allclose(others[0, 0], alone[0, 0], atol=1e-5)
    assert others[0, 1] < others[0, 0]


def test_greedy_whatever_the_folder_says(tiny, opened, pictures, tmp_path):
    shutil.copytree(tiny("qwen2_vl"), tmp_path / "qwen")
    given = json.loads((tmp_path / "qwen" / "generation_config.json").read_text())
    loud = {"do_sample": True, "temperature": 5.0, "repetition_penalty": 9.0, "num_beams": 3, "max_length": 7}
    (tmp_path / "qwen" / "generation_config.json").write_text(json.dumps(given | loud))
    model = ChatModel(tmp_path / "qwen", OPTIONS)
    assert model.answer(pictures, PREFIXES) == opened("qwen2_vl").answer(pictures, PREFIXES)


@each_kind
def test_a_continuation_without_a_token_is_refused(name, opened, pictures):
    with pytest.raises(ParameterError, match="no token"):
        opened(name).score_continuations(pictures[:1], ["the doctor"], [["", " his"]])
    with pytest.raises(ParameterError, match="no token"):
        opened(name).next_token_logits(pictures[:1], ["the doctor"], [[""]])


@pytest.mark.parametrize("name", ["llava", "qwen2_vl"])
def test_a_folder_without_a_chat_template_is_refused_in_one_line(name, tiny, tmp_path):
    shutil.copytree(tiny(name), tmp_path / "llava")
    (tmp_path / "llava" / "chat_template.jinja").unlink()
    with pytest.raises(UserError, match=r"no chat template.*chat_template\.jinja") as problem:
        ChatModel(tmp_path / "llava", LoadOptions(device="cpu"))
    assert "\n" not in str(problem.value)


def test_a_model_with_masks_beside_each_token_answers_and_says_that_it_cannot_score(opened, naive, pictures):
    prompts = ["who is in the picture", "the doctor", "what is this", "a", "is this a man"]
    expected = [naive("mllama").answer(*pair) for pair in zip(pictures[::2], prompts[::2], strict=True)]
    assert opened("mllama").answer(pictures, prompts)[::2] == expected
    with pytest.raises(UserError, match=r"mllama answers.*cannot be scored.*cross_attention_mask") as problem:
        opened("mllama").score_continuations(pictures[:1], ["the doctor"], [[" his"]])
    assert "\n" not in str(problem.value)
    with pytest.raises(UserError, match="cannot be scored"):
        opened("mllama").next_token_logits(pictures[:1], ["the doctor"], [["his"]])


OWN_CODE = """
from transformers import LlavaConfig, LlavaForConditionalGeneration


class OwnConfig(LlavaConfig):
    model_type = "own_llava"


class OwnModel(LlavaForConditionalGeneration):
    config_class = OwnConfig
"""


def test_code_in_the_folder_runs_only_when_trusted(tiny, opened, pictures, tmp_path):
    shutil.copytree(tiny("llava"), tmp_path / "own")
    (tmp_path / "own" / "own_code.py").write_text(OWN_CODE)
    weights = {name: tensor.clone() for name, tensor in opened("llava")._model.state_dict().items()}
    save_file(weights, tmp_path / "own" / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((tmp_path / "own" / "config.json").read_text())
    registered = {"AutoConfig": "own_code.OwnConfig", "AutoModelForCausalLM": "own_code.OwnModel"}
    config |= {"model_type": "own_llava", "architectures": ["OwnModel"], "auto_map": registered}
    (tmp_path / "own" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="trust_remote_code"):
        ChatModel(tmp_path / "own", LoadOptions(device="cpu"))
    model = ChatModel(tmp_path / "own", LoadOptions(device="cpu", trust_remote_code=True))
    asked = pictures, PREFIXES, [WORDS] * 5
    # its images go through its own processor as it is, so the resizing may differ
    np.testing.assert_allclose(
        model.score_continuations(*asked), opened("llava").score_continuations(*asked), atol=0.2
    )


def test_a_template_that_writes_the_first_token_gets_no_second_one(tiny, opened, pictures, tmp_path):
    shutil.copytree(tiny("llava"), tmp_path / "llava")
    template = tmp_path / "llava" / "chat_template.jinja"
    template.write_text("<s>" + template.read_text())
    model = ChatModel(tmp_path / "llava", LoadOptions(device="cpu"))
    asked = pictures, PREFIXES, [WORDS] * 5
    np.testing.assert_allclose(
        model.score_continuations(*asked), opened("llava").score_continuations(*asked), atol=1e-6
    )


def test_out_of_memory_is_passed_on(opened, pictures, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = opened("llava")
    monkeypatch.setattr(model._model.lm_head, "forward", full)
    with pytest.raises(torch.OutOfMemoryError):
        model.score_continuations(pictures[:1], ["the"], [[" dog"]])
    with pytest.raises(torch.OutOfMemoryError):
        model.answer(pictures[:1], ["the"])


WITHOUT_TORCHVISION = """
import sys
sys.modules["torchvision"] = None
import numpy as np
from pathlib import Path
from evenhand.models.adapters.huggingface.language.chat import ChatModel
from evenhand.models.identity.source import LoadOptions
from tests.models.conftest import make_pictures
pictures = make_pictures(3)
options = LoadOptions(device="cpu", max_tokens=int(sys.argv[1]))
for folder in sys.argv[2:]:
    model = ChatModel(Path(folder), options)
    given = pictures, ["the doctor and"] * 3, [[" his", " her patient"]] * 3
    print(model.score_continuations(*given).tolist())
    print(model.answer(pictures, ["who is this", "a", "the doctor"]))
"""
WITHOUT = ("qwen2_vl", "qwen2_5_vl", "llava")


@pytest.fixture(scope="module")
def without_torchvision(tiny):
    """Scores and answers of each model, as a process that cannot import torchvision prints them."""
    folders = (str(tiny(name)) for name in WITHOUT)
    command = [sys.executable, "-c", WITHOUT_TORCHVISION, str(LONGEST), *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = done.stdout.splitlines()[-2 * len(WITHOUT) :]
    return dict(zip(WITHOUT, zip(lines[::2], lines[1::2], strict=True), strict=True))


@pytest.mark.parametrize("name", WITHOUT)
def test_without_torchvision_the_numbers_are_the_same(name, without_torchvision, opened):
    scores, answers = without_torchvision[name]
    pictures = make_pictures(3)
    ours = opened(name).score_continuations(pictures, ["the doctor and"] * 3, [[" his", " her patient"]] * 3)
    np.testing.assert_allclose(json.loads(scores), ours, atol=1e-5)
    assert answers == str(opened(name).answer(pictures, ["who is this", "a", "the doctor"]))
