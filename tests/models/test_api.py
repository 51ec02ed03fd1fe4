"""The ``api:`` adapter against a real server process around a tiny model, with faults injected."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from importlib.util import find_spec
from urllib.request import Request, urlopen

import numpy as np
import pytest

from evenhand.core.capabilities import AnswersQuestions, NotAnswered, PreparesImages, ScoresContinuations
from evenhand.core.errors import ParameterError, UnknownName, UserError
from evenhand.models.api.address import api_key, parse_address
from evenhand.models.api.faults import CUT, FAILED, LIMITED, REFUSED, TIMED_OUT
from evenhand.models.api.model import CONTINUE
from evenhand.models.api.scoring import MERGED, NOT_LISTED, first_token_scores
from evenhand.models.resolve import resolve
from tests.conftest import ROOT

pytest.importorskip("openai")
KEY = "sk-secret-4711"
PROMPTS = [
    "what color is this ?",
    "who is this ?",
    "describe the image",
    "is the doctor happy ?",
    "yes or no ?",
]


class Served:
    """A server process and what the tests ask of it beside completions."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "tests.models.api_server", str(folder)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        assert line.strip().isdigit(), "the server did not start"
        self.root = f"http://127.0.0.1:{line.strip()}"
        self.url = f"{self.root}/v1"

    def log(self):
        with urlopen(f"{self.root}/admin/log") as page:  # noqa: S310
            return json.load(page)

    def post(self, path, content):
        urlopen(Request(self.root + path, json.dumps(content).encode(), method="POST")).close()  # noqa: S310

    def break_with(self, kind, times=1, match="", retry_after=None):
        self.post(
            "/admin/faults", [{"kind": kind, "times": times, "match": match, "retry_after": retry_after}]
        )

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def running(tiny):
    server = Served(tiny("llava"))
    yield server
    server.end()


@pytest.fixture
def server(running):
    running.post("/admin/clear", {})
    return running


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("EVENHAND_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def load(server):
    """Models at the server, closed afterwards: ``load(retries=1)``."""
    loaded = []

    def made(name="tiny", url=server.url, **options):
        query = "&".join(f"{key}={value}" for key, value in ({"max_tokens": 8} | options).items())
        loaded.append(resolve(f"api:{name}@{url}?{query}").load())
        return loaded[-1]

    yield made
    for model in loaded:
        model.close()


class Direct:
    """The same model in this process, asked through transformers."""

    def __init__(self, folder):
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder).eval()

    def inputs(self, image, text):
        from PIL import Image

        images = None if image is None else [Image.fromarray(image)]
        inputs = dict(self.processor(images=images, text=text, return_tensors="pt"))
        inputs.pop("token_type_ids", None)
        return inputs

    def answer(self, image, prompt):
        inputs = self.inputs(image, f"<|user|>{'' if image is None else '<image>'} {prompt}<|assistant|>")
        made = self.model.generate(**inputs, max_new_tokens=8, do_sample=False)[0]
        return self.processor.tokenizer.decode(made[inputs["input_ids"].shape[1] :], skip_special_tokens=True)

    def logprobs(self, image, text):
        """Log-softmax at each position, and the token ids."""
        import torch

        inputs = self.inputs(image, text)
        with torch.no_grad():
            told = torch.log_softmax(self.model(**inputs).logits[0].float(), -1)
        return told.numpy(), inputs["input_ids"][0].tolist()

    def words(self, logprobs):
        """The text of each token of the vocabulary, the likeliest first."""
        return [self.processor.tokenizer.decode([token]) for token in np.argsort(-logprobs)]


@pytest.fixture(scope="module")
def direct(tiny):
    return Direct(tiny("llava"))


def ask(model, pictures, prompts=PROMPTS):
    return model.answer([model.prepare(picture) for picture in pictures], prompts)


# -- answers --


def test_answers_are_those_of_the_model_asked_directly(load, direct, pictures):
    answers = ask(load(), pictures)
    assert answers == [direct.answer(picture, text) for picture, text in zip(pictures, PROMPTS, strict=True)]
    assert len(set(answers)) == len(answers)
    assert len(set(ask(load(), pictures, ["who is this ?"] * 5))) > 1, "the images must reach the model"


def test_the_model_meets_its_capabilities(load):
    model = load()
    assert isinstance(model, AnswersQuestions)
    assert isinstance(model, ScoresContinuations)
    assert isinstance(model, PreparesImages)


def test_png_is_lossless_and_jpeg_is_possible(load, pictures):
    import base64
    import io

    from PIL import Image

    sent = {kind: load(image=kind).prepare(pictures[0]) for kind in ("png", "jpeg")}
    decoded = {
        kind: np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))))
        for kind, url in sent.items()
    }
    assert sent["png"].startswith("data:image/png;base64,")
    assert sent["jpeg"].startswith("data:image/jpeg;base64,")
    assert (decoded["png"] == pictures[0]).all()
    assert decoded["jpeg"].shape == pictures[0].shape
    assert (decoded["jpeg"] != pictures[0]).any()


def test_a_question_without_an_image(load, direct):
    (answer,) = load().answer([None], ["is the doctor happy ?"])
    assert answer == direct.answer(None, "is the doctor happy ?")


def test_what_is_sent(load, server, pictures):
    ask(load(), pictures[:1], PROMPTS[:1])
    ask(load(temperature="none", seed="none"), pictures[:1], PROMPTS[:1])
    plain, bare = server.log()["bodies"]
    assert plain == {"model": "tiny", "temperature": 0.0, "seed": 0, "max_tokens": 8}
    assert bare == {"model": "tiny", "max_tokens": 8}


def test_newer_models_name_the_length_otherwise(load, server, pictures):
    expected = ask(load(), pictures)
    server.break_with("length field")
    assert ask(load(), pictures) == expected
    fields = [next(name for name in body if name.startswith("max_")) for body in server.log()["bodies"][5:]]
    assert fields == ["max_tokens"] + ["max_completion_tokens"] * 5


@pytest.mark.parametrize("concurrency", [1, 2, 8])
def test_order_is_kept_and_concurrency_is_limited(load, server, direct, pictures, concurrency):
    prompts = ["SLOW dog", "cat", "SLOW car", "street", "house", "SLOW man", "woman", "person"]
    images = [pictures[number % 5] for number in range(8)]
    answers = ask(load(concurrency=concurrency), images, prompts)
    assert answers == [direct.answer(image, text) for image, text in zip(images, prompts, strict=True)]
    assert server.log()["most"] <= concurrency
    assert server.log()["most"] > 1 or concurrency == 1


def test_requests_a_minute_are_limited(load, server, pictures):
    ask(load(rpm=300), pictures)
    times = server.log()["times"]
    assert times[-1] - times[0] >= 4 * 0.2 - 0.05


# -- usage and identity --


def test_usage_counts_tokens_attempts_and_cost(load, server, direct, pictures):
    model = load(price_in=2, price_out=10)
    assert model.usage()["requests"] == 0
    server.break_with("500")
    ask(model, pictures)
    texts = [f"<|user|><image> {prompt}<|assistant|>" for prompt in PROMPTS]
    prompt_tokens = sum(direct.inputs(pictures[0], text)["input_ids"].shape[1] for text in texts)
    used = model.usage()
    assert used["requests"] == 6
    assert used["retries"] == 1
    assert used["prompt_tokens"] == prompt_tokens
    assert 5 <= used["completion_tokens"] <= 40
    assert used["cost"] == pytest.approx((2 * prompt_tokens + 10 * used["completion_tokens"]) / 1e6)
    assert used["served_as"] == ["tiny-1.0 fp_tiny"]
    assert "cost" not in load().usage()


def test_identity_holds_what_changes_answers_and_nothing_else():
    def identity(options):
        return resolve(f"api:tiny@http://127.0.0.1:1/v1{options}").identity()

    plain = identity("")
    assert plain["name"] == "tiny"
    assert plain["server"] == "http://127.0.0.1:1/v1"
    assert plain["weights"] == "unknown (served)"
    assert identity("?concurrency=2&rpm=6&timeout=5&retries=0&price_in=1") == plain
    for option in (
        "max_tokens=3",
        "temperature=1",
        "seed=1",
        "image=jpeg",
        "prefix=assistant",
        "logprobs=prompt",
    ):
        assert identity(f"?{option}") != plain, option


def test_identity_loads_no_library():
    code = (
        "import sys\nfrom evenhand.models.api.source import open_api\n"
        "from evenhand.models.source import LoadOptions\n"
        "source = open_api('tiny@http://127.0.0.1:1/v1', LoadOptions())\n"
        "source.identity(), source.capabilities()\n"
        "print({name.split('.')[0] for name in sys.modules} & {'openai', 'httpx', 'httpx2', 'torch', 'PIL'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# -- the key --


def test_the_key_is_sent_and_never_shown(load, server, pictures, monkeypatch, caplog):
    monkeypatch.setenv("EVENHAND_API_KEY", KEY)
    caplog.set_level("DEBUG")
    model = load(retries=0)
    server.break_with("500", match="doctor")  # this server repeats the key in its message
    answers = ask(model, pictures)
    assert answers[3].reason == FAILED
    assert "[key]" in answers[3].detail
    source = resolve(f"api:tiny@{server.url}")
    shown = [
        repr(answers),
        repr(model),
        repr(vars(model)),
        repr(source),
        source.uri,
        source.identity(),
        model.usage(),
    ]
    for kind in ("401", "403"):
        server.break_with(kind, times=-1)
        with pytest.raises(UserError) as told:
            ask(load(retries=0), pictures)
        shown += ["".join(traceback.format_exception(told.value))]
    assert KEY not in str(shown)
    assert KEY not in caplog.text
    assert set(server.log()["keys"]) == {f"Bearer {KEY}"}


def test_which_key_goes_where(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    assert api_key("https://api.openai.com/v1") == "theirs"
    assert api_key("http://localhost:8000/v1") == "theirs"
    assert api_key("http://gpu-3:8000/v1") is None
    monkeypatch.setenv("EVENHAND_API_KEY", "own")
    assert api_key("http://gpu-3:8000/v1") == "own"
    assert api_key("https://api.openai.com/v1") == "own"


# -- addresses --


def test_addresses(monkeypatch):
    address = parse_address(
        "org/name@2024@https://host/v1/?concurrency=3&rpm=60&price_out=.6&temperature=none"
    )
    assert (address.model, address.base_url) == ("org/name@2024", "https://host/v1")
    assert (address.options.concurrency, address.options.rpm, address.options.price_out) == (3, 60, 0.6)
    assert address.options.temperature is None
    assert parse_address("gpt-4o").base_url == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert parse_address("gpt-4o?max_tokens=1").base_url == "http://127.0.0.1:9/v1"
    assert parse_address("m?logprobs=prompt").options.prefix == "assistant"


@pytest.mark.parametrize(
    ("reference", "kind", "message"),
    [
        ("tiny@localhost:8000/v1", UserError, "has no http:// or https://"),
        ("@http://host/v1", UserError, "names no model"),
        ("tiny@http:///v1", UserError, "names no model"),
        ("tiny@http://me:hunter2@host/v1", UserError, "EVENHAND_API_KEY"),
        ("tiny@http://host/v1?api_key=hunter2", UnknownName, "there is no option of api: 'api_key'"),
        ("tiny@http://host/v1?concurency=8", UnknownName, "did you mean 'concurrency'"),
        ("tiny@http://host/v1?concurrency=0", ParameterError, "whole number of at least 1"),
        ("tiny@http://host/v1?timeout=0", ParameterError, "timeout must be a number above 0"),
        ("tiny@http://host/v1?temperature=hot", ParameterError, "or none"),
        ("tiny@http://host/v1?rpm=inf", ParameterError, "rpm must be a number"),
        ("tiny@http://host/v1?image=gif", ParameterError, "'png', 'jpeg'"),
        ("tiny@http://host/v1?logprobs=prompt&prefix=user", ParameterError, "prefix=assistant"),
    ],
)
def test_addresses_that_are_refused(reference, kind, message):
    with pytest.raises(kind) as told:
        parse_address(reference)
    assert message in str(told.value)
    assert "hunter2" not in str(told.value)
    assert "\n" not in str(told.value)


# -- faults --


@pytest.mark.parametrize("kind", ["429", "500", "503", "cut", "garbled", "no choices"])
def test_a_passing_fault_is_retried(load, server, pictures, kind):
    expected = ask(load(), pictures)
    server.break_with(kind, match=PROMPTS[2])
    model = load()
    assert ask(model, pictures) == expected
    assert model.usage()["retries"] == 1
    server.break_with(kind)  # the very first request
    assert ask(load(), pictures) == expected


def test_a_time_out_is_retried(load, server, pictures):
    expected = ask(load(), pictures[:2], PROMPTS[:2])
    server.break_with("hang", match=PROMPTS[1])
    model = load(timeout=1.5)
    assert ask(model, pictures[:2], PROMPTS[:2]) == expected
    assert model.usage()["retries"] == 1


def test_retry_after_is_honoured(load, server, pictures):
    server.break_with("429", retry_after=1.5)
    assert isinstance(ask(load(), pictures[:1], PROMPTS[:1])[0], str)
    first, second = server.log()["times"]
    assert 1.5 <= second - first < 5


def test_back_off_grows(load, server, pictures):
    server.break_with("500", times=3)
    ask(load(), pictures[:1], PROMPTS[:1])
    waits = np.diff(server.log()["times"])
    assert len(waits) == 3
    assert waits[0] >= 0.37
    assert waits[1] >= 0.75
    assert waits[2] >= 1.5


@pytest.mark.parametrize(
    ("kind", "reason", "temporary"),
    [
        ("429", LIMITED, True),
        ("500", FAILED, True),
        ("hang", TIMED_OUT, True),
        ("cut", CUT, True),
        ("garbled", CUT, True),
        ("no choices", CUT, True),
        ("400", REFUSED, False),
        ("403", REFUSED, False),
        ("filtered", REFUSED, False),
        ("empty", "no text in the server's answer", False),
    ],
)
def test_a_lasting_fault_is_the_samples_alone(load, server, pictures, kind, reason, temporary):
    expected = ask(load(), pictures)
    server.break_with(kind, times=-1, match=PROMPTS[2])
    model = load(retries=1, timeout=1.5)
    answers = ask(model, pictures)
    failed = answers.pop(2)
    assert isinstance(failed, NotAnswered)
    assert (failed.reason, failed.temporary) == (reason, temporary)
    assert failed.detail
    assert answers == expected[:2] + expected[3:]
    assert model.usage()["retries"] == temporary


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("401", "asks for a key, and none was sent (401); type: export EVENHAND_API_KEY"),
        ("402", "is used up (402)"),
        ("quota", "is used up (429)"),
        ("403", "does not let this key use 'tiny' (403)"),
        ("temperature", "add temperature=none to the model's options"),
    ],
)
def test_what_concerns_every_sample_stops(load, server, pictures, kind, message):
    server.break_with(kind, times=-1)
    model = load(retries=0)
    with pytest.raises(UserError) as told:
        ask(model, pictures)
    assert message in str(told.value)
    assert "\n" not in str(told.value)
    assert model.usage()["requests"] == 1


def test_an_unknown_model_or_page_stops(load, server, pictures):
    with pytest.raises(UnknownName, match=r"there is no model at .* 'tini'; did you mean 'tiny'"):
        ask(load("tini"), pictures)
    with pytest.raises(UserError, match=r"has no model 'tiny' \(404\)"):
        ask(load(url=f"{server.root}/v2"), pictures)


def test_an_unreachable_server_stops(load, pictures):
    with pytest.raises(UserError, match=r"http://127.0.0.1:1/v1 cannot be reached: ConnectError"):
        ask(load(url="http://127.0.0.1:1/v1", retries=0), pictures)


def test_a_server_that_goes_away_costs_little_time(tiny, load, pictures):
    own = Served(tiny("llava"))
    model = load(url=own.url, retries=2, concurrency=1)
    try:
        assert all(isinstance(answer, str) for answer in ask(model, pictures))
    finally:
        own.end()
    start = time.monotonic()
    answers = ask(model, pictures * 8, PROMPTS * 8)
    assert {(answer.reason, answer.temporary) for answer in answers} == {(CUT, True)}
    # Two samples are retried (0.5 + 1 s each); the other 38 are tried once.
    assert model.usage()["retries"] == 4
    assert time.monotonic() - start < 10


def test_ctrl_c_does_not_wait_for_a_back_off(server, tmp_path):
    server.break_with("429", times=-1, retry_after=100)
    script = tmp_path / "asks.py"
    script.write_text(
        "from evenhand.models.resolve import resolve\n"
        f"model = resolve('api:tiny@{server.url}').load()\n"
        "print('loaded', flush=True)\n"
        "model.answer([None] * 3, ['a', 'b', 'c'])\n"
    )
    asking = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    asking.stdout.readline()
    while not server.log()["times"]:
        time.sleep(0.05)
    asking.send_signal(signal.SIGINT)
    _, told = asking.communicate(timeout=10)
    assert told.strip().endswith("KeyboardInterrupt")


# -- scores of continuations --


def test_scores_of_the_word_that_opens_the_reply(load, server, direct, pictures):
    prefix = "the doctor and"
    text = f"<|user|><image> {CONTINUE.format(prefix=prefix)}<|assistant|>"
    told = [direct.logprobs(picture, text)[0][-1] for picture in pictures]
    tokens = direct.processor.tokenizer
    model = load(top_logprobs=1000)
    images = [model.prepare(picture) for picture in pictures]
    words = [" his", " her", "dog"]
    scores = model.score_continuations(images, [prefix] * 5, [words] * 5)
    assert scores.dtype == np.float32
    for row, logprobs in zip(scores, told, strict=True):
        for score, word in zip(row, words, strict=True):
            same = [v for i, v in enumerate(logprobs) if tokens.decode([i]).lstrip() == word.lstrip()]
            assert score == pytest.approx(np.logaddexp.reduce(same), abs=1e-4)
    assert np.ptp(scores[:, 0]) > 1e-3, "the images must reach the model"
    logits = model.next_token_logits(images, [prefix] * 5, [words] * 5)
    assert (logits == scores).all()
    assert server.log()["bodies"][0]["max_tokens"] == 1


def test_scores_of_the_next_token_of_an_opened_reply(load, direct, pictures):
    prefix = "the doctor and"
    logprobs, _ = direct.logprobs(pictures[0], f"<|user|><image><|assistant|> {prefix}")
    listed = direct.words(logprobs[-1])
    known = [word for word in listed[:20] if "\N{REPLACEMENT CHARACTER}" not in word]
    # likely, unlikely, of several tokens
    texts = [known[0], known[1], listed[-1], " his her"]
    model = load(prefix="assistant")
    (row,) = model.score_continuations([model.prepare(pictures[0])], [prefix], [texts])
    assert row[:2] == pytest.approx(
        np.sort(logprobs[-1])[::-1][[listed.index(known[0]), listed.index(known[1])]], abs=1e-4
    )
    assert np.isnan(row[2:]).all()
    (missing,) = model.score_continuations([model.prepare(pictures[0])], [prefix], [[listed[-1]]])
    assert (missing.reason, missing.temporary) == (NOT_LISTED, False)


def test_scores_of_whole_continuations_from_the_prompt(load, server, direct, pictures):
    prefixes = ["the doctor and", "", "a photo of the", "who", "his dog"]
    texts = [" his patient", " her", " zebra crossing , yes"]
    model = load(logprobs="prompt")
    images = [model.prepare(picture) for picture in pictures]
    scores = model.score_continuations(images, prefixes, [texts] * 5)
    firsts = model.next_token_logits(images, prefixes, [texts] * 5)
    assert scores.shape == firsts.shape == (5, 3)
    for image, prefix, row, first_row in zip(pictures, prefixes, scores, firsts, strict=True):
        opened = f"<|user|><image><|assistant|>{' ' * bool(prefix)}{prefix}"
        _, before = direct.logprobs(image, opened)
        for text, score, first in zip(texts, row, first_row, strict=True):
            logprobs, ids = direct.logprobs(image, opened + text if prefix else f"{opened} {text}")
            each = [logprobs[place - 1, ids[place]] for place in range(len(before), len(ids))]
            assert score == pytest.approx(sum(each), abs=1e-3)
            assert first == pytest.approx(each[0], abs=1e-4)
    assert server.log()["bodies"][1]["continue_final_message"] is True


def test_a_continuation_that_changes_its_prefix_is_not_scored(load, pictures):
    model = load(logprobs="prompt")
    (row,) = model.score_continuations([model.prepare(pictures[0])], ["the doctor and h"], [["is"]])
    assert (row.reason, row.temporary) == (MERGED, False)


@pytest.mark.parametrize("way", ["top", "prompt"])
def test_one_samples_fault_leaves_the_other_scores(load, server, pictures, way):
    server.break_with("500", times=-1, match="nurse")
    model = load(retries=0, logprobs=way, top_logprobs=1000)
    images = [model.prepare(picture) for picture in pictures[:3]]
    first, failed, last = model.score_continuations(
        images, ["the doctor and", "the nurse and", "the dog"], [[" his"]] * 3
    )
    assert (failed.reason, failed.temporary) == (FAILED, True)
    assert all(row.dtype == np.float32 and math.isfinite(row[0]) for row in (first, last))


@pytest.mark.parametrize("way", ["top", "prompt"])
def test_a_server_without_log_probabilities_is_told_once(load, server, pictures, way):
    server.break_with("empty", times=-1)
    model = load(logprobs=way)
    with pytest.raises(UserError, match="gives no log-probabilities, which scores_continuations needs"):
        model.score_continuations([model.prepare(pictures[0])] * 3, ["the"] * 3, [[" dog"]] * 3)


def test_what_a_server_calls_unlikely_is_not_a_number():
    row = {"token": " his", "logprob": -9999.0}
    told = {"token": " her", "logprob": -0.5, "top_logprobs": [row]}
    answer = {"choices": [{"logprobs": {"content": [told]}}]}
    scores = first_token_scores(answer, [" his", " her"], ignore_space=False)
    assert math.isnan(scores[0])
    assert scores[1] == -0.5, "the token that was chosen counts where the list leaves it out"
    assert first_token_scores(answer, [" his"], ignore_space=False).reason == NOT_LISTED


# -- another server --


@pytest.fixture
def transformers_serve(tiny):
    """``transformers serve`` with the same model, on a port that was free a moment ago."""
    for library in ("fastapi", "uvicorn", "accelerate"):
        if not find_spec(library):
            pytest.skip(f"transformers serve needs {library}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve"]
    command += [str(tiny("llava")), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        time.sleep(0.2)
        try:
            urlopen(f"http://127.0.0.1:{port}/health").close()
            break
        except OSError:
            assert process.poll() is None, "transformers serve ended"
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.wait()


@pytest.mark.slow
def test_transformers_serve(transformers_serve, tiny, load, direct):
    model = load(str(tiny("llava")), url=transformers_serve)
    assert model.answer([None] * 5, PROMPTS) == [direct.answer(None, prompt) for prompt in PROMPTS]
    assert model.usage()["completion_tokens"] > 0
    with pytest.raises(UserError, match="logprobs"):
        model.score_continuations([None], ["the"], [[" dog"]])
