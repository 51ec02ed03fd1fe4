"""The same questions through Ray give the same rows."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.errors import UserError
from evenhand.workflows.execution.options import AskOptions
from tests.runner.crash import patterns
from tests.runner.crash.commands import command, finish, here, one_line_of, uri

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
]


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory):
    """The address of one cluster for all tests; it goes with them."""
    import ray

    os.environ["PATTERNS_ROOM"] = "20"
    settings = {
        "worker_niceness": 0,  # else workers wait for what the other worker of the suite does
        "prestart_worker_first_driver": False,  # none that nobody asks
    }
    ray.init(log_to_driver=False, logging_level="ERROR", include_dashboard=False, _system_config=settings)
    yield ray.get_runtime_context().gcs_address
    del os.environ["PATTERNS_ROOM"]
    ray.shutdown()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def ask(model, engine: str = "ray", workers: int = 1, **given: object) -> eh.Run:
    texts = {name: str(value) for name, value in given.items()}
    options = AskOptions(engine=engine, workers=workers, keep_answers=False)
    return eh.run(uri("PATTERNS"), model=model, parameters=texts, options=options)


@pytest.mark.parametrize(
    ("capability", "model", "workers"),
    [
        ("classifies_images", patterns.LazySource, 1),
        ("embeds_images", patterns.Model, 1),
        ("answers_questions", lambda: uri("Model"), 2),
    ],
    ids=["of a source made here", "of an object made here", "of a file"],
)
def test_ray_gives_the_rows_of_the_local_engine(capability, model, workers) -> None:
    ours, theirs = (ask(model(), engine, workers, n=300, ask=capability) for engine in ("ray", "local"))
    assert ours.manifest["asking"]["engine"] == "ray"
    name = "answers" if capability == "answers_questions" else "evidence"
    rows, wanted = ours.evidence[name].collect(), theirs.evidence[name].collect()
    assert len(rows) == 299
    exact = [column for column, kind in rows.schema.items() if kind == pl.String]
    assert rows.select(exact).equals(wanted.select(exact))
    for column in set(rows.columns) - set(exact):
        numbers = [np.array(one[column].to_list(), dtype=np.float64) for one in (rows, wanted)]
        np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-5 * np.abs(numbers[1]).max())
    assert ours.unanswered.equals(theirs.unanswered)


def test_workers_halve_and_what_they_say_to_the_user_arrives() -> None:
    cramped = ask(uri("Cramped"), n=200)
    assert cramped.manifest["asking"]["questions"][0]["halved_to"] in (15, 16)
    assert len(cramped.evidence["evidence"].collect()) == 199
    with pytest.raises(UserError, match=r"^the model failed on samples pattern-00064 to pattern-00127: Val"):
        ask(uri("Failing"), n=128)


def test_the_command_says_one_line(cluster, tmp_path, monkeypatch) -> None:
    def said(model: str, address: str = cluster, run: Callable[..., tuple[int, str, str]] = finish):
        words = command(tmp_path / "run", model=model, n=100)
        again = [*words, "--engine", "ray", "--workers", "1", "--ray-address", address]
        code, _, err = run(again, tmp_path / "home")
        lines = [line for line in err.splitlines() if not line.startswith("[20")]  # of Ray's C++ part
        return code, "\n".join(lines)

    assert said("Model", run=here) == (0, "")
    code, err = said("Dying")
    assert code == 2
    one_line_of(err, "died 3 times")
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    code, err = said("NotFinite", "127.0.0.1:1", here)
    assert code == 2
    one_line_of(err, "--ray-address", "127.0.0.1:1")


class Brightness:
    """Says whether a picture is bright."""

    version = "1"
    labels = ("dark", "bright")

    def classify(self, images):
        means = np.array([float(np.mean(image)) for image in images])
        return np.stack([128 - means, means - 128], axis=1).astype(np.float32)


def test_images_listed_in_parquet_give_the_findings_of_the_local_engine(tmp_path) -> None:
    shades = np.random.default_rng(0).integers(0, 256, 120).tolist()
    for number, shade in enumerate(shades):
        Image.new("RGB", (16, 16), (shade,) * 3).save(tmp_path / f"{number}.png")
    shown = ["bright" if shade > 128 else "dark" for shade in shades]
    names = [f"{number}.png" for number in range(120)]
    table = pl.DataFrame({"image": names, "label": shown, "group": ["a", "b"] * 60})
    table.write_parquet(tmp_path / "list.parquet")
    given = {"image": "image", "truth": "label", "by": "group"}
    runs = [
        eh.run(
            "classification",
            model=Brightness(),
            data=tmp_path / "list.parquet",
            parameters=given,
            options=AskOptions(engine=engine, workers=1, keep_answers=False),
        )
        for engine in ("ray", "local")
    ]
    assert runs[0].finding("accuracy", "group").n == 120
    assert runs[0].findings.model_dump_json() == runs[1].findings.model_dump_json()


def test_a_model_that_exits_in_a_worker_is_an_error_of_the_model() -> None:
    with pytest.raises(UserError, match=r"the model .*:Exiting' called sys\.exit\(0\)"):
        ask(uri("Exiting"), n=100)


LAZY = """
import numpy as np
from pathlib import Path
class Lazy:
    mean, weight = np.array([0.5]), None
    def embed_images(self, images):
        if self.weight is None:
            self.weight = np.load(Path(__file__).with_name("weight" + ".npy"))
        return np.stack(images).reshape(len(images), -1) @ self.weight
"""


def test_a_model_that_loads_its_weights_when_it_is_asked_is_asked_in_each_run(tmp_path) -> None:
    np.save(tmp_path / "weight.npy", np.ones((192, 2)))
    (tmp_path / "lazy.py").write_text(LAZY)
    given = {"model": f"{tmp_path / 'lazy.py'}:Lazy", "parameters": {"n": "16", "ask": "embeds_images"}}
    for _ in range(2):
        run = eh.run(uri("PATTERNS"), options=AskOptions(engine="ray", workers=1), **given)
        assert run.manifest["asking"]["questions"][0]["asked"] == 16
        assert "weight.npy only when it is asked" in run.manifest["asking"]["not_kept"]
