"""Faults of a server: retried, told of one sample, or a reason to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import UnknownName, UserError
from evenhand.models.adapters.api.faults import CUT, FAILED, LIMITED, REFUSED, TIMED_OUT, SentRequest
from evenhand.models.resolve import resolve
from tests.models.api.conftest import PROMPTS, Served, ask


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


@pytest.mark.parametrize(
    ("kind", "reason", "said"),
    [("drip", TIMED_OUT, "no whole answer within 1 s"), ("flood", CUT, "the answer is longer than 1 MB")],
)
def test_an_answer_without_end_is_given_up(load, clock, server, pictures, kind, reason, said):
    expected = ask(load(), pictures[:2], PROMPTS[:2])
    server.break_with(kind, times=-1, match=PROMPTS[1])
    start = clock.now
    answers = ask(load(deadline=1, retries=0), pictures[:2], PROMPTS[:2])
    assert clock.now - start <= 1
    assert answers[0] == expected[0]
    assert (answers[1].reason, answers[1].temporary) == (reason, True)
    assert said in answers[1].detail


def test_waiting_for_a_turn_does_not_count_towards_the_deadline(load, clock, server, pictures):
    answers = ask(load(deadline=1, rpm=40), pictures[:3], PROMPTS[:3])
    assert all(isinstance(answer, str) for answer in answers)
    assert np.diff(clock.sent) == pytest.approx([1.5, 1.5])


def test_retry_after_is_honoured(load, clock, server, pictures):
    server.break_with("429", retry_after=1.5)
    assert isinstance(ask(load(), pictures[:1], PROMPTS[:1])[0], str)
    first, second = clock.sent
    assert second - first == pytest.approx(1.5)


def test_back_off_grows(load, clock, server, pictures):
    """Half a second, doubled each time, less at most a quarter."""
    server.break_with("500", times=3)
    ask(load(), pictures[:1], PROMPTS[:1])
    waits = np.diff(clock.sent)
    assert len(waits) == 3
    for wait, longest in zip(waits, (0.5, 1, 2), strict=True):
        assert 0.75 * longest - 1e-6 <= wait <= longest + 1e-6


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


def test_a_server_that_goes_away_costs_little_time(clock, load, pictures):
    own = Served()
    model = load(url=own.url, retries=1, concurrency=1)
    try:
        assert all(isinstance(answer, str) for answer in ask(model, pictures))
    finally:
        own.end()
    start = clock.now
    answers = ask(model, pictures * 8, PROMPTS * 8)
    assert {(answer.reason, answer.temporary) for answer in answers} == {(CUT, True)}
    # Two samples are retried after half a second; the other 38 are tried once.
    assert model.usage()["retries"] == 2
    assert clock.now - start <= 1


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
    while not server.log()["bodies"]:
        time.sleep(0.05)
    asking.send_signal(signal.SIGINT)
    _, told = asking.communicate(timeout=90)  # the back-off takes longer
    assert told.strip().endswith("KeyboardInterrupt")


def test_a_key_that_the_server_sends_back_is_kept_nowhere(load, server, pictures, monkeypatch):
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("EVENHAND_API_KEY", key)
    said = {"content": f"You sent Bearer {key}.", "reasoning_content": f"the key {key}"}
    server.post("/admin/replies", {PROMPTS[0]: said})
    model = load()
    (answer,) = ask(model, pictures[:1], PROMPTS[:1])
    assert answer == "You sent Bearer [key]."
    assert key not in repr(model.usage())
    short = SentRequest("tiny", server.url, "no")  # a local server's: a word of answers
    assert short.struck({"no": ["no", 1, None]}) == {"no": ["no", 1, None]}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_is_refused_unless_it_is_named(load, server, pictures, status):
    port = server.root.rpartition(":")[2]
    expected = ask(load(), pictures[:2], PROMPTS[:2])
    asked = len(server.log()["keys"])
    elsewhere = f"http://localhost:{port}/v1/chat/completions"  # another name of the same server
    for to in (
        elsewhere,
        f"//localhost:{port}/v1/chat/completions",
        "http://169.254.169.254/latest",
        "http://[",
    ):
        moved = {"kind": "moved", "times": -1, "match": "", "status": status, "to": to}
        server.post("/admin/faults", [moved])
        with pytest.raises(UserError, match=r"sends requests on to .* images would go there; .*redirect="):
            ask(load(), pictures[:2], PROMPTS[:2])
        asked += 1
        assert len(server.log()["keys"]) == asked  # once, and nothing was sent on
    if status in (307, 308):
        server.post("/admin/faults", [{**moved, "to": elsewhere, "times": 1}])
        assert ask(load(redirect="localhost"), pictures[:2], PROMPTS[:2]) == expected
        server.post("/admin/faults", [{**moved, "to": "/v1/chat/completions", "times": 1}])
        assert ask(load(), pictures[:2], PROMPTS[:2]) == expected


def test_a_redirect_that_is_named_makes_another_model():
    here, there = (resolve(f"api:m@http://a.example/v1{more}") for more in ("", "?redirect=b.example"))
    assert set(there.identity()) - set(here.identity()) == {"redirect"}
