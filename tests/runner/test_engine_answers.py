"""What the run engine does with a model's answers, and with a model that fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import InputError, UserError
from evenhand.files.images.sources import ImageFiles
from evenhand.workflows.execution.engines.prefetch import load
from evenhand.workflows.execution.options import AskOptions
from tests.runner.crash.commands import PATTERNS_FILE, command, here, nothing_but_reuse, one_line_of, uri

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(autouse=True)
def calls(tmp_path, monkeypatch) -> Path:
    """Everything is unknown; the file of numbers asked about."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATTERNS_CALLS", str(tmp_path / "calls"))
    (tmp_path / "calls").touch()
    return tmp_path / "calls"


def take_numbers(calls: Path) -> list[int]:
    """Numbers asked about since the last time."""
    numbers = [int(line) for line in calls.read_text().split()]
    calls.write_text("")
    return numbers


def ask(
    model: str = "Model", out: Path | None = None, benchmark: str = "PATTERNS", file=PATTERNS_FILE, **given
):
    options = AskOptions(**{name: given.pop(name) for name in ("workers", "batch_size") if name in given})
    progress = given.pop("progress", None)
    texts = {name: str(value) for name, value in given.items()}
    return eh.run(
        uri(benchmark),
        model=f"{file}:{model}",
        parameters=texts,
        options=options,
        out=out,
        progress=progress,
    )


def rows_of(run, name: str = "evidence") -> pl.DataFrame:
    return run.evidence[name].collect()


def whole(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((folder / "evidence" / "evidence").iterdir())}


def vectors(run) -> np.ndarray:
    return rows_of(run)["vector"].list.to_array(32).to_numpy()


@pytest.mark.parametrize("problem", ["MemoryError", "RuntimeError", "OutOfMemoryError"])
def test_out_of_memory_halves_the_batch_and_goes_on(monkeypatch, tmp_path, problem) -> None:
    if problem == "OutOfMemoryError":
        pytest.importorskip("torch")
    monkeypatch.setenv("PATTERNS_PROBLEM", problem)
    cramped, plain = ask("Cramped"), ask()
    assert cramped.manifest["asking"]["questions"][0]["halved_to"] == 3  # of 63 readable ones
    assert "halved_to" not in plain.manifest["asking"]["questions"][0]
    assert len(rows_of(cramped)) == 199
    assert rows_of(cramped).drop("confidence").equals(rows_of(plain).drop("confidence"))
    np.testing.assert_allclose(rows_of(cramped)["confidence"], rows_of(plain)["confidence"], rtol=1e-5)


def test_a_sample_that_no_memory_holds_stops_and_what_came_before_is_kept(monkeypatch, calls) -> None:
    monkeypatch.setenv("PATTERNS_ROOM", "0")  # number 103 never fits
    with pytest.raises(UserError, match=r"does not hold a single sample \(pattern-00103\): MemoryError"):
        ask("Cramped")
    first = take_numbers(calls)
    assert set(range(64)) - {13} <= set(first)
    monkeypatch.setenv("PATTERNS_ROOM", "64")
    ask("Cramped")
    assert take_numbers(calls) == list(range(64, 200))


def test_memory_that_does_not_hold_an_image_is_one_line() -> None:
    class Large:
        def load(self, index: int) -> np.ndarray:
            raise MemoryError

    with pytest.raises(UserError, match="smaller --batch-size or fewer --workers"):
        load(Large(), 0, None)


def test_answers_that_are_not_finite_are_listed_and_the_others_stand(calls) -> None:
    run, plain = ask("NotFinite", n=64), ask(n=64)
    wrong = run.unanswered.filter(reason="answer not finite")
    assert wrong["sample"].to_list() == ["pattern-00020", "pattern-00040"]
    assert wrong["detail"].to_list() == [
        "1 of 7 numbers are NaN or infinite",
        "7 of 7 numbers are NaN or infinite",
    ]
    reasons = {dropped.reason: dropped.count for dropped in run.findings.findings[0].dropped}
    assert reasons == {"answer not finite": 2, "not an image": 1}
    others = rows_of(plain).filter(~pl.col("sample").is_in(wrong["sample"].to_list()))
    assert rows_of(run).equals(others)
    take_numbers(calls)
    again = ask("NotFinite", n=64)
    assert take_numbers(calls) == []
    assert again.unanswered.equals(run.unanswered)


def test_workers_change_no_byte_and_batch_sizes_only_the_last_digits(tmp_path, calls) -> None:
    bytes_of = []
    for workers in (1, 2, 5):
        shutil.rmtree(tmp_path / "home", ignore_errors=True)
        ask(out=tmp_path / "run", n=2_500, ask="embeds_images", workers=workers)
        assert take_numbers(calls) == [number for number in range(2_500) if number != 13]
        bytes_of.append(whole(tmp_path / "run"))
    assert set(bytes_of[0]) == {"part-00000.parquet", "part-00001.parquet"}
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]
    usual = ask(n=300, ask="embeds_images")
    shutil.rmtree(tmp_path / "home")
    other = ask(n=300, ask="embeds_images", batch_size=17)
    assert rows_of(other)["sample"].equals(rows_of(usual)["sample"])
    np.testing.assert_allclose(
        vectors(other), vectors(usual), rtol=1e-5, atol=1e-5 * np.abs(vectors(usual)).max()
    )


def test_a_second_run_asks_nothing_and_gives_the_same_bytes(tmp_path, calls) -> None:
    ask(out=tmp_path / "run")
    first = whole(tmp_path / "run"), (tmp_path / "run" / "findings.json").read_bytes()
    take_numbers(calls)
    run = ask(out=tmp_path / "run")
    assert take_numbers(calls) == []
    assert run.manifest["asking"]["questions"][0]["asked"] == 0
    assert (whole(tmp_path / "run"), (tmp_path / "run" / "findings.json").read_bytes()) == first


def test_another_benchmark_reuses_answers_and_asks_only_what_is_new(calls) -> None:
    ask(n=128)
    take_numbers(calls)
    assert ask(n=128, benchmark="OTHER").findings.findings[0].benchmark == "other patterns"
    assert take_numbers(calls) == []
    ask(first=100, n=60, batch_size=20)
    assert take_numbers(calls) == list(range(128, 160))  # what the runs before did not ask
    ask(n=128, ask="embeds_images")
    assert len(take_numbers(calls)) == 127


def test_a_changed_prompt_or_model_is_asked_again(tmp_path, calls) -> None:
    copied = tmp_path / "patterns.py"
    source = PATTERNS_FILE.read_text()
    copied.write_text(source)
    given = {"n": 32, "ask": "answers_questions", "file": copied}
    ask(**given)
    assert len(take_numbers(calls)) == 31
    ask(**given, prompt="And now?")
    assert len(take_numbers(calls)) == 31
    copied.write_text(source + "\n# changed\n")
    ask(**given)
    assert take_numbers(calls) == []  # the class declares its version, which did not change
    copied.write_text(source.replace('version = "1"', 'version = "2"'))
    assert rows_of(ask(**given), "answers")["text"][0] == "What is it? 0"
    assert len(take_numbers(calls)) == 31
    copied.write_text(source.replace('version = "1"', ""))
    ask(**given)
    assert len(take_numbers(calls)) == 31
    copied.write_text(source.replace('version = "1"', "") + "\n# changed\n")
    ask(**given)
    assert len(take_numbers(calls)) == 31  # without one, the file is what tells models apart


def test_changed_weights_are_asked_again(tmp_path, calls) -> None:
    copied, weights = tmp_path / "patterns.py", tmp_path / "weights.bin"
    copied.write_text(PATTERNS_FILE.read_text().replace('version = "1"', f"files = [{str(weights)!r}]"))
    weights.write_bytes(b"one")
    ask(n=32, file=copied)
    ask(n=32, file=copied)
    assert len(take_numbers(calls)) == 31
    weights.write_bytes(b"two")
    ask(n=32, file=copied)
    assert len(take_numbers(calls)) == 31


def test_a_model_that_raises_is_one_line_that_names_samples(tmp_path, calls, monkeypatch) -> None:
    code, _, err = here(command(tmp_path / "run", model="Failing"), tmp_path / "home")
    assert code == 2
    one_line_of(err, "pattern-00064 to pattern-00127: ValueError: shapes do not fit")
    assert not (tmp_path / "run").exists()
    assert len(take_numbers(calls)) == 63
    with pytest.raises(UserError, match="pattern-00064"):
        ask("Failing")
    assert take_numbers(calls) == []


def test_what_could_not_be_asked_now_is_asked_again_and_nothing_else(tmp_path, calls) -> None:
    again = command(tmp_path / "run", model="Busy", n=64, ask="answers_questions")
    code, _, err = here(again, tmp_path / "home", PATTERNS_BUSY=1)
    assert code == 3
    one_line_of(err, "2 samples could not be asked about: too many requests (2)", "same command again")
    assert len(eh.Run.read(tmp_path / "run").findings.findings) == 1
    assert len(take_numbers(calls)) == 63
    code, _, err = here(again, tmp_path / "home")
    assert code == 0
    assert err.startswith("62 of 64 answers of ")  # all but the two that were too many requests
    nothing_but_reuse(err)
    assert take_numbers(calls) == list(range(16, 32))  # their batch
    answers = pl.read_parquet(tmp_path / "run" / "evidence" / "answers" / "*.parquet")
    assert answers["text"].to_list() == [f"What is it? {number}" for number in range(64) if number != 13]


def test_a_file_that_goes_away_while_it_is_read_is_asked_about_again(tmp_path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(b"no image")
    images = ImageFiles([path])
    kept = load(images, 0, None)
    assert isinstance(kept, NotAnswered)
    assert not kept.temporary  # these bytes will never be an image
    path.unlink()
    lost = load(images, 0, None)
    assert isinstance(lost, NotAnswered)
    assert lost.temporary


def test_progress_counts_every_row_once(calls) -> None:
    seen: list[tuple[str, int, int]] = []
    ask(n=2_300, progress=lambda *one: seen.append(one))
    assert seen[-1] == ("evidence", 2_300, 2_300)
    done = [one[1] for one in seen]
    assert done == sorted(done)
    assert done[0] == 64
    seen.clear()
    ask(n=2_300, progress=lambda *one: seen.append(one))
    assert seen[-1] == ("evidence", 2_300, 2_300)


@pytest.mark.pages
def test_forgotten_answers_are_not_kept(tmp_path, calls) -> None:
    given = command(tmp_path / "run", n=64)
    for _ in range(2):
        assert here([*given, "--forget-answers"], tmp_path / "home")[0] == 0
        assert len(take_numbers(calls)) == 63
    assert not (tmp_path / "home" / "answers").exists()
    names = {entry.name for entry in (tmp_path / "run").iterdir()}
    assert names == {
        "evidence",
        "findings.json",
        "hashes.json",
        "manifest.json",
        "metrics.json",
        "report.html",
    }


def test_a_folder_of_another_process_or_a_broken_store_is_one_line(tmp_path, calls) -> None:
    ask(n=8)
    (store,) = (tmp_path / "home" / "answers").glob("*.sqlite")
    for file in store.parent.iterdir():
        file.unlink()
    store.write_bytes(b"not a database" * 100)
    with pytest.raises(InputError, match="delete the file"):
        ask(n=8)
    store.unlink()
    ask(n=8)
    manifest = json.dumps(ask(n=8).manifest["asking"])
    assert '"asked": 0' in manifest


def test_an_image_that_changes_while_it_is_read_is_asked_about_again(tmp_path, monkeypatch) -> None:
    """The answer to new pixels must never be kept under the hash of the old ones."""
    from PIL import Image

    from evenhand.core.requests import UnreadableImage
    from evenhand.files.images.sources import ImageFiles

    path = tmp_path / "a.png"
    Image.new("RGB", (8, 8), (255, 0, 0)).save(path)
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    source = ImageFiles([path])
    first = source.digests(0, 1)
    Image.new("RGB", (9, 8), (0, 255, 0)).save(path)
    with pytest.raises(UnreadableImage, match="changed while it was read") as told:
        source.load(0)
    assert told.value.temporary
    assert source.digests(0, 1) != first
    assert source.load(0).shape == (8, 9, 3)


def test_what_fails_for_now_in_prepare_is_not_kept() -> None:
    from evenhand.workflows.execution.engines.prefetch import load

    class One:
        def load(self, index):
            return np.zeros((4, 4, 3), dtype=np.uint8)

    def missing(image):
        raise FileNotFoundError("helper.bin")

    def unfit(image):
        raise ValueError("too small")

    assert load(One(), 0, missing).temporary
    assert not load(One(), 0, unfit).temporary
