"""Where an answer begins in a chat template, against a text of training; thoughts; room for answers."""

import shutil

import numpy as np
import pytest
import torch
import transformers as hf

from evenhand.core.errors import ParameterError
from evenhand.core.thoughts import without_thought
from evenhand.evidence.open_answers.chosen_option import chosen_option
from evenhand.models.adapters.huggingface.language.chat import ChatModel
from evenhand.models.adapters.huggingface.language.chat_inputs import ChatInputs
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from evenhand.workflows.execution.options import AskOptions
from tests.models.tiny import build

USER = (
    "{% for m in messages %}{% if m.role == 'user' %}<|user|>{% for p in m.content %}"
    "{% if p.type == 'image' %}<image>{% else %} {{ p.text }} {% endif %}{% endfor %}{% else %}"
)
END = "{% endif %}{% endfor %}{% if add_generation_prompt %}"
WORDS = "{{ m.content[0].text }}</s>"
NO_THOUGHT = "<think>\n\n</think>\n\n"
TEMPLATES = {
    "llava": f"{USER}ASSISTANT: {WORDS}{END}ASSISTANT:{{% endif %}}",
    "idefics": f"{USER}\nAssistant: {WORDS}<end_of_utterance>\n{END}\nAssistant:{{% endif %}}",
    "qwen": f"{USER}<|assistant|>\n{WORDS}{END}<|assistant|>\n{{% endif %}}",
    "switch": (
        f"{USER}<|assistant|>\n{NO_THOUGHT}{WORDS}{END}<|assistant|>\n"
        f"{{% if enable_thinking is defined and not enable_thinking %}}{NO_THOUGHT}{{% endif %}}{{% endif %}}"
    ),
    "thinks": f"{USER}<|assistant|>\n{NO_THOUGHT}{WORDS}{END}<|assistant|>\n<think>\n{{% endif %}}",
}
OTHER_TURNS = {  # written in another way than they are opened, or not known
    "thought left out": f"{USER}<|assistant|>{WORDS}{END}<|assistant|><think>\n{{% endif %}}",
    "texts only": f"{USER}{{{{ 'ASSISTANT: ' + m.content }}}}{END}ASSISTANT:{{% endif %}}",
}
SAID, TAILS = "The doctor and", [" his", " her patient"]


@pytest.fixture(scope="module")
def processor():
    processor = hf.AutoProcessor.from_pretrained(build("llava"))
    processor.image_processor = hf.AutoImageProcessor.from_pretrained(build("llava"), backend="pil")
    return processor


def taught(processor, template, text):
    """A conversation in the words of the template, as a model reads it in training, up to its last word."""
    user = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": ChatInputs.instruction}]}
    reply = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    written = processor.apply_chat_template([user, reply], chat_template=template, tokenize=False)
    return written[: written.rindex(text) + len(text)]


def inputs_with(processor, template):
    processor.chat_template = template
    return ChatInputs(processor)


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_is_scored_are_the_tokens_of_a_text_of_training(processor, name):
    inputs = inputs_with(processor, TEMPLATES[name])
    for text in (f"{SAID}{tail}" for tail in TAILS):
        training = taught(processor, TEMPLATES[name], text)
        assert inputs.tokens(inputs.instruction, text) == processor.tokenizer(training)["input_ids"]
        if name in ("llava", "idefics"):  # their space stands there once, whoever writes it
            spaced = inputs.tokens(inputs.instruction, f" {text}")
            assert spaced == inputs.tokens(inputs.instruction, text)


def test_no_text_is_scored_inside_a_thought_whatever_the_template_says(processor):
    left_out = inputs_with(processor, OTHER_TURNS["thought left out"])
    begun = processor.tokenizer.decode(left_out.tokens("hi", "The doctor"))
    assert begun.replace(" ", "").endswith("<think>\n\n</think>\n\nThedoctor")
    texts = inputs_with(processor, OTHER_TURNS["texts only"])
    assert processor.tokenizer.decode(texts.tokens("hi", "The")).endswith("ASSISTANT:The")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The tiny model with another template."""

    def get(name, **options):
        folder = tmp_path_factory.mktemp(name) / "model"
        shutil.copytree(build("llava"), folder)
        (folder / "chat_template.jinja").write_text(TEMPLATES[name])
        return ChatModel(folder, LoadOptions(device="cpu", **options))

    return get


def test_scores_are_those_of_a_teacher_forced_text_of_training(opened, processor, pictures):
    model = opened("llava")
    scores = model.score_continuations(pictures[:1], [SAID], [TAILS])
    for score, tail in zip(scores[0], TAILS, strict=True):
        text = taught(processor, TEMPLATES["llava"], SAID + tail)
        tensors = processor(images=[pictures[0]], text=text, return_tensors="pt")
        with torch.no_grad():
            log_p = torch.log_softmax(model._model(**tensors).logits[0].double(), -1)
        n_tail = len(processor.tokenizer(tail, add_special_tokens=False)["input_ids"])
        tokens = tensors["input_ids"][0, -n_tail:]
        expected = log_p[-n_tail - 1 : -1].gather(1, tokens[:, None]).sum()
        np.testing.assert_allclose(score, float(expected), atol=1e-5)


def test_a_thought_that_the_template_begins_is_part_of_the_answer_and_gets_room(opened, pictures):
    model = opened("thinks", max_tokens=4)
    assert model.max_new_tokens == 4
    (answer,) = model.answer(pictures[:1], ["A or B?"])
    assert answer.startswith("<think>")
    assert chosen_option(answer, ["yes", "no"]).reason == "thought that did not end"
    assert opened("thinks").max_new_tokens == 2048
    assert opened("switch").max_new_tokens == 64


def test_tokens_around_a_thought_stay_where_others_go():
    tokenizer = hf.AutoTokenizer.from_pretrained(build("llava"))
    marks = ["[THINK]", "[/THINK]", "<|channel>", "<channel|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    processor = hf.AutoProcessor.from_pretrained(build("llava"))
    processor.tokenizer, processor.chat_template = tokenizer, TEMPLATES["qwen"]
    said = ["[THINK] the doctor [/THINK] her </s>", "<|channel>thought the doctor<channel|> her </s>"]
    rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in said]
    answers = ChatInputs(processor).decode(rows)
    assert [without_thought(answer).strip() for answer in answers] == ["her", "her"]
    assert [answer.split()[0] for answer in answers] == ["[THINK]", "<|channel>thought"]


def test_the_room_of_an_answer_is_part_of_a_models_identity():
    uri = f"hf:{build('llava')}"
    assert "max_tokens" not in resolve(uri, AskOptions().load_options()).identity()
    assert resolve(uri, AskOptions(max_tokens=512).load_options()).identity()["max_tokens"] == "512"
    served = "api:tiny@http://127.0.0.1:1/v1"
    for address, tokens in ((served, "512"), (f"{served}?max_tokens=8", "8")):
        decoding = resolve(address, AskOptions(max_tokens=512).load_options()).identity()["decoding"]
        assert f"max_tokens={tokens}" in decoding
    with pytest.raises(ParameterError, match="max_tokens=0 is not possible"):
        AskOptions(max_tokens=0)
