"""Captioners against a naive loop: one image, one text, transformers' own forward pass, log_softmax, sum."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image

from evenhand.core.capabilities import capabilities_of
from evenhand.core.errors import ParameterError
from evenhand.models.adapters.huggingface.language.captioners import (
    Blip2,
    BlipAnswerer,
    BlipCaptioner,
    GitCaptioner,
)
from evenhand.models.adapters.huggingface.language.continuations import sum_log_probabilities
from evenhand.models.identity.source import LoadOptions

KINDS = {
    "blip_caption": (BlipCaptioner, "BlipForConditionalGeneration"),
    "blip_vqa": (BlipAnswerer, "BlipForQuestionAnswering"),
    "git": (GitCaptioner, "GitForCausalLM"),
    "blip2": (Blip2, "Blip2ForConditionalGeneration"),
    "blip2_t5": (Blip2, "Blip2ForConditionalGeneration"),
}
"""Our class and the name of transformers' own, which takes seconds to import."""
ENCODER_DECODERS = ("blip_vqa", "blip2_t5")
PREFIXES = ["the doctor and", "a nurse and", "a photo of the teacher and", "the dog", "who is"]
WORDS = [" his", " her patient", " a man is in the street", " their"]

each_kind = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(scope="session")
def opened(tiny):
    made = {}

    def get(name):
        if name not in made:
            made[name] = KINDS[name][0](tiny(name), LoadOptions(device="cpu"))
        return made[name]

    return get


class Naive:
    """transformers called directly; ``logits`` are those after prefix + continuation[:j], for each j."""

    def __init__(self, name, folder):
        self.name = name
        self.model = getattr(hf, KINDS[name][1]).from_pretrained(folder).eval()
        self.words = hf.AutoTokenizer.from_pretrained(folder)
        self.pictures = hf.AutoImageProcessor.from_pretrained(folder, backend="pil")

    def pixels(self, image):
        return self.pictures(images=Image.fromarray(image), return_tensors="pt")["pixel_values"]

    def ids(self, text, **settings):
        return self.words(text, add_special_tokens=False, **settings)["input_ids"]

    def logits(self, image, prefix, continuation):
        with torch.no_grad():
            return getattr(self, f"_{self.name}")(self.pixels(image), prefix, continuation)

    def score(self, image, prefix, continuation):
        tail = self.ids(continuation)
        log_p = torch.log_softmax(self.logits(image, prefix, continuation).double(), -1)
        return float(sum(log_p[j, token] for j, token in enumerate(tail)))

    def _blip_caption(self, pixels, prefix, continuation):
        start = self.model.config.text_config.bos_token_id
        ids = [start, *self.ids(prefix + continuation)]
        tail = len(self.ids(continuation))
        return self.model(pixel_values=pixels, input_ids=torch.tensor([ids])).logits[0, -tail - 1 :]

    def _blip_vqa(self, pixels, prefix, continuation):
        text = self.words(prefix, return_tensors="pt")
        seen = self.model.vision_model(pixel_values=pixels).last_hidden_state
        read = self.model.text_encoder(**text_only(text), encoder_hidden_states=seen).last_hidden_state
        ids = [self.model.config.text_config.bos_token_id, *self.ids(continuation)]
        return self.model.text_decoder(torch.tensor([ids]), encoder_hidden_states=read).logits[0]

    def _git(self, pixels, prefix, continuation):
        ids = [self.words.cls_token_id, *self.ids(prefix + continuation)]
        tail = len(self.ids(continuation))
        return self.model(pixel_values=pixels, input_ids=torch.tensor([ids])).logits[0, -tail - 1 :]

    def _blip2(self, pixels, prefix, continuation):
        ids = self.words(prefix + continuation)["input_ids"]
        image = [self.model.config.image_token_id] * self.model.config.num_query_tokens
        tail = len(self.ids(continuation))
        return self.model(pixels, torch.tensor([image + ids])).logits[0, -tail - 1 :]

    def _blip2_t5(self, pixels, prefix, continuation):
        image = [self.model.config.image_token_id] * self.model.config.num_query_tokens
        ids = torch.tensor([image + self.words(prefix)["input_ids"]])
        start = self.model.config.text_config.decoder_start_token_id
        spoken = torch.tensor([[start, *self.ids(continuation)]])
        return self.model(pixels, ids, decoder_input_ids=spoken).logits[0]

    def answer(self, image, prompt, longest):
        pixels, greedy = self.pixels(image), {"do_sample": False, "num_beams": 1, "max_new_tokens": longest}
        with torch.no_grad():
            if self.name == "git":
                ids = torch.tensor([[self.words.cls_token_id, *self.ids(prompt)]])
                made = self.model.generate(pixel_values=pixels, input_ids=ids, **greedy)[:, ids.shape[1] :]
            elif self.name.startswith("blip2"):
                image = [self.model.config.image_token_id] * self.model.config.num_query_tokens
                ids = torch.tensor([image + self.words(prompt)["input_ids"]])
                made = self.model.generate(pixels, ids, **greedy)
                made = made if self.name == "blip2_t5" else made[:, ids.shape[1] :]
            else:
                text = text_only(self.words(prompt, return_tensors="pt"))
                made = self.model.generate(pixel_values=pixels, **text, **greedy)
                used = text["input_ids"].shape[1] - 1 if self.name == "blip_caption" else 1
                made = made[:, used:]
        return self.words.decode(made[0], skip_special_tokens=True).strip()


def text_only(text):
    return {name: text[name] for name in ("input_ids", "attention_mask")}


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
    assert np.ptp(scores[:, 0]) > 0.01


@each_kind
def test_next_token_logits_equal_the_naive_loop(name, opened, naive, pictures):
    words = ["his", "her", "their patient"]
    logits = opened(name).next_token_logits(pictures, PREFIXES, [words] * 5)
    expected = [
        naive(name).logits(image, prefix, " his")[0, [naive(name).ids(word)[0] for word in words]]
        for image, prefix in zip(pictures, PREFIXES, strict=True)
    ]
    np.testing.assert_allclose(logits, torch.stack(expected), atol=1e-5)


@each_kind
def test_batches_change_nothing(name, opened, pictures):
    model, prepared = opened(name), [opened(name).prepare(image) for image in pictures]
    whole = model.score_continuations(prepared, PREFIXES, [WORDS] * 5)
    logits = model.next_token_logits(prepared, PREFIXES, [WORDS] * 5)
    answers = model.answer(prepared, PREFIXES)
    for i in (0, 2, 4):  # prefixes of three lengths
        one = [prepared[i]], [PREFIXES[i]], [WORDS]
        np.testing.assert_allclose(model.score_continuations(*one)[0], whole[i], atol=1e-5)
        np.testing.assert_allclose(model.next_token_logits(*one)[0], logits[i], atol=1e-5)
        assert model.answer(*one[:2]) == [answers[i]]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ENCODER_DECODERS])
def test_a_space_may_end_the_prefix_or_begin_the_continuation(name, opened, pictures):
    after = opened(name).score_continuations(pictures, PREFIXES, [WORDS] * 5)
    stripped = [[word.strip() for word in WORDS]] * 5
    before = opened(name).score_continuations(pictures, [f"{prefix} " for prefix in PREFIXES], stripped)
    np.testing.assert_allclose(before, after, atol=1e-5)


def test_the_papers_logits_stand_after_the_trailing_space(opened, naive, pictures):
    """BLIP-2 with OPT as VisoGender reads it: logits[0, -1] of the prefix with its space."""
    ours = opened("blip2").next_token_logits(pictures[:1], ["The doctor and "], [["his", "her"]])
    oracle = naive("blip2")
    ids = [oracle.model.config.image_token_id] * 4 + oracle.words("The doctor and ")["input_ids"]
    with torch.no_grad():
        last = oracle.model(oracle.pixels(pictures[0]), torch.tensor([ids])).logits[0, -1]
    tokens = [oracle.words(word)["input_ids"][1] for word in ("his", "her")]  # [0] is the start token
    np.testing.assert_allclose(ours[0], last[tokens], atol=1e-5)
    spaced = [oracle.ids(f" {word}")[0] for word in ("his", "her")]
    assert np.abs(ours[0] - last[spaced].numpy()).max() > 0.01


def test_blip_is_read_after_the_last_word_not_after_sep(opened, naive, pictures):
    ours = opened("blip_caption").next_token_logits(pictures[:1], ["the doctor and "], [["his", "her"]])
    oracle = naive("blip_caption")
    ids = oracle.words("the doctor and ", return_tensors="pt")["input_ids"]
    assert ids[0, -1] == oracle.words.sep_token_id
    ids[:, 0] = oracle.model.config.text_config.bos_token_id
    with torch.no_grad():
        logits = oracle.model(oracle.pixels(pictures[0]), ids).logits[0]
    tokens = oracle.words.convert_tokens_to_ids(["his", "her"])
    np.testing.assert_allclose(ours[0], logits[-2, tokens], atol=1e-5)
    assert np.abs(ours[0] - logits[-1, tokens].numpy()).max() > 0.01


@each_kind
def test_one_token_continuations_share_one_certainty(name, opened, pictures):
    model = opened(name)
    contexts, prepared = [model._context(prefix) for prefix in PREFIXES[:2]], pictures[:2]
    vocabulary = model._model.get_output_embeddings() if name != "blip_vqa" else None
    size = vocabulary.out_features if vocabulary is not None else model._model.config.text_config.vocab_size
    every = [[[token] for token in range(size)]] * 2
    log_p = model._ask(prepared, contexts, every, sum_log_probabilities)
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, atol=1e-4)
    logits = model.next_token_logits(prepared, PREFIXES[:2], [["his", "her"]] * 2)
    tokens = [model._words(word)[0] for word in ("his", "her")]
    np.testing.assert_allclose(np.diff(logits), np.diff(log_p[:, tokens]), atol=1e-4)


@each_kind
def test_images_are_encoded_once(name, opened, pictures):
    model, calls = opened(name), []
    tower = next(model._model.git.image_encoder.children()) if name == "git" else model._model.vision_model
    hook = tower.register_forward_hook(lambda *_: calls.append(1))
    try:
        model.score_continuations(pictures, ["the doctor and"] * 5, [WORDS] * 5)
    finally:
        hook.remove()
    assert len(calls) == 1


@each_kind
def test_answers_equal_transformers_own(name, opened, naive, pictures):
    prompts = ["who is in the picture", "the doctor", "a", "is this a man", "what is this"]
    answers = opened(name).answer(pictures, prompts)
    for image, prompt, answer in zip(pictures[::2], prompts[::2], answers[::2], strict=True):
        # at the end of its positions a model speaks less than it may
        used = len(naive(name).words(prompt)["input_ids"])
        longest = {"blip_caption": 65 - used, "blip_vqa": 63, "git": 65 - used, "blip2": 60 - used}.get(
            name, 64
        )
        assert answer == naive(name).answer(image, prompt, longest)
    assert len(set(answers)) > 1


@each_kind
def test_an_empty_prompt_is_answered(name, opened, pictures):
    assert len(opened(name).answer(pictures, [""] * 5)) == 5


@each_kind
def test_nothing_asked(name, opened):
    assert opened(name).answer([], []) == []
    assert opened(name).score_continuations([], [], []).shape == (0, 0)
    assert opened(name).next_token_logits([], [], []).shape == (0, 0)


def test_greedy_whatever_the_folder_says(tiny, opened, pictures, tmp_path):
    shutil.copytree(tiny("git"), tmp_path / "git")
    given = json.loads((tmp_path / "git" / "generation_config.json").read_text())
    loud = {"do_sample": True, "temperature": 5.0, "repetition_penalty": 9.0, "num_beams": 3, "max_length": 7}
    (tmp_path / "git" / "generation_config.json").write_text(json.dumps(given | loud))
    model = GitCaptioner(tmp_path / "git", LoadOptions(device="cpu"))
    assert model.answer(pictures, PREFIXES) == opened("git").answer(pictures, PREFIXES)


@each_kind
def test_a_continuation_without_a_token_is_refused(name, opened, pictures):
    with pytest.raises(ParameterError, match="no token"):
        opened(name).score_continuations(pictures[:1], ["the doctor"], [["", " his"]])
    with pytest.raises(ParameterError, match="no token"):
        opened(name).next_token_logits(pictures[:1], ["the doctor"], [[""]])


@pytest.mark.parametrize("name", ["blip_caption", "blip_vqa", "git", "blip2"])
def test_a_text_beyond_the_models_positions_is_refused_in_one_line(name, opened, pictures):
    endless = "the dog " * 40
    with pytest.raises(ParameterError, match="reads at most"):
        opened(name).answer(pictures[:1], [endless])
    with pytest.raises(ParameterError, match="reads at most"):
        opened(name).next_token_logits(pictures[:1], [endless], [["his"]])
    with pytest.raises(ParameterError, match="reads at most") as problem:
        opened(name).score_continuations(pictures[:1], [endless], [["his"]])
    assert "\n" not in str(problem.value)


@each_kind
def test_out_of_memory_is_passed_on(name, opened, pictures, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = opened(name)
    tower = model._model.git.image_encoder if name == "git" else model._model.vision_model
    monkeypatch.setattr(tower, "forward", full)
    for ask in (
        lambda: model.score_continuations(pictures[:1], ["the"], [[" dog"]]),
        lambda: model.answer(pictures[:1], ["the"]),
    ):
        with pytest.raises(torch.OutOfMemoryError):
            ask()


def test_half_precision_answers_in_float32(tiny, opened, pictures):
    half = Blip2(tiny("blip2"), LoadOptions(device="cpu", dtype="bfloat16"))
    scores = half.score_continuations(pictures, PREFIXES, [WORDS] * 5)
    assert scores.dtype == np.float32
    whole = opened("blip2").score_continuations(pictures, PREFIXES, [WORDS] * 5)
    assert np.abs(scores - whole).max() < 1.0
    assert len(half.answer(pictures, PREFIXES)) == 5
