"""What ``api:`` URIs mean, which key goes where, and what is told about it."""

from __future__ import annotations

import subprocess
import sys
import traceback

import pytest

from evenhand.core.errors import ParameterError, UnknownName, UserError
from evenhand.models.adapters.api.address import api_key, parse_address
from evenhand.models.adapters.api.faults import FAILED
from evenhand.models.resolve import resolve
from tests.models.api.conftest import ask

KEY = "sk-secret-4711"


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
        ("tiny@http://host/v1?deadline=0", ParameterError, "deadline must be a number above 0"),
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


def test_identity_holds_what_changes_answers_and_nothing_else():
    def identity(options):
        return resolve(f"api:tiny@http://127.0.0.1:1/v1{options}").identity()

    plain = identity("")
    assert plain["name"] == "tiny"
    assert plain["server"] == "http://127.0.0.1:1/v1"
    assert plain["weights"] == "unknown (served)"
    assert identity("?concurrency=2&rpm=6&timeout=5&deadline=9&retries=0&price_in=1") == plain
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
        "import sys\nfrom evenhand.models.adapters.api.source import open_api\n"
        "from evenhand.models.identity.source import LoadOptions\n"
        "source = open_api('tiny@http://127.0.0.1:1/v1', LoadOptions())\n"
        "source.identity(), source.capabilities()\n"
        "print({name.split('.')[0] for name in sys.modules} & {'openai', 'httpx', 'httpx2', 'torch', 'PIL'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


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
