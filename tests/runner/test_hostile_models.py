"""Models of the user's that reuse memory, end the process, or say nonsense of themselves."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import InputError, UserError, exits_are_errors, one_line
from evenhand.core.requests import Question
from evenhand.workflows.execution.answering.answer_cache import AnswerStore
from evenhand.workflows.execution.answering.batches import _METHODS, Batch, BatchCaller
from tests.runner.crash.commands import EVENHAND, finish, here, one_line_of, uri

pytestmark = pytest.mark.usefixtures("without_pages")

MODEL = """
import os
import threading
import numpy as np

class Unreadable(Exception):
    def __str__(self):
        raise ValueError("no text")

class Net:
    version = "1"
    labels = tuple(f"c{{code}}" for code in range(7))
    def classify(self, images):
        return np.array([np.arange(7) == image[0, 0, 2] % 7 for image in images], np.float32)

class Odd(Net):
    {body}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def words_of(folder, body: str, **parameters: object) -> list[str]:
    """The command that asks a model of these lines."""
    (folder / "odd.py").write_text(MODEL.format(body=body.replace("\n", "\n    ")))
    given = [f"-p{name}={value}" for name, value in ({"n": 96} | parameters).items()]
    model = f"{folder / 'odd.py'}:Odd"
    return [*EVENHAND, "run", uri("PATTERNS"), "--model", model, *given, "-o", str(folder / "run")]


class Reusing:
    """Fills one array with every answer, of any capability, as exported networks do."""

    labels, logit_scale = ("a", "b"), 1.0

    def __init__(self, *, listed: bool, torch: bool) -> None:
        self.out, self.calls, self.listed = np.zeros((2, 2), np.float32), 0, listed
        if torch:
            self.out = pytest.importorskip("torch").zeros(2, 2)

    def fill(self, *asked):
        self.calls += 1
        self.out[:] = self.calls
        rows = self.out[:, :1] if self.single else self.out
        return list(rows) if self.listed else rows

    single = False
    classify = embed_images = embed_texts = match = score_continuations = fill


@pytest.mark.parametrize("capability", [name for name in _METHODS if name != "answers_questions"])
@pytest.mark.parametrize(("listed", "torch"), [(False, False), (True, False), (False, True)])
def test_answers_are_owned_on_receipt(capability, listed, torch) -> None:
    candidates = [["x", "y"]] * 6 if capability == "scores_continuations" else None
    question = Question("q", capability, list("abcdef"), texts=list("abcdef"), candidates=candidates)
    model = Reusing(listed=listed, torch=torch)
    model.single = capability == "matches_pairs"
    caller = BatchCaller(model, question)
    first = caller.ask(Batch([0, 1], [None] * 2))
    caller.piece = 2
    others = caller.ask(Batch([2, 3, 4, 5], [None] * 4))
    assert [row[0] for row in [*first, *others]] == [1, 1, 2, 2, 3, 3]


BUFFERED = """
def __init__(self):
    self.out = np.zeros((16, 7), np.float32)
def classify(self, images):
    out = self.out[: len(images)]
    out[:] = Net.classify(self, images)
    return out
"""
PREPARED = """
def prepare(self, image):
    if not hasattr(self, "seen"):
        self.seen = np.zeros_like(image)
    self.seen[:] = image
    return {given}
"""


def test_a_model_that_reuses_its_output_is_measured_as_one_that_does_not(tmp_path) -> None:
    findings = []
    for body in ("pass", BUFFERED):
        words = [*words_of(tmp_path, body), "--batch-size", "16"]
        assert here(words, tmp_path / "home")[0] == 0
        findings.append((tmp_path / "run" / "evidence" / "evidence" / "part-00000.parquet").read_bytes())
        (tmp_path / "home" / "answers").rename(tmp_path / f"answers{len(findings)}")
    assert findings[0] == findings[1]


@pytest.mark.parametrize("given", ["self.seen", "self.seen[:]", "{'pixels': self.seen}"])
@pytest.mark.parametrize("batch", ["16", "1"])
def test_images_prepared_into_one_array_are_refused(tmp_path, given, batch) -> None:
    words = words_of(tmp_path, PREPARED.format(given=given) + "def classify(self, images): return [[0] * 7]")
    code, _, err = here([*words, "--batch-size", batch], tmp_path / "home")
    assert code == 2
    one_line_of(err, "prepare() of the model gives the same array", "copy()")
    assert not (tmp_path / "run").exists()


def test_one_array_for_equal_images_is_no_mistake(tmp_path) -> None:
    body = "blank = np.zeros((8, 8, 3), np.uint8)\ndef prepare(self, image): return self.blank"
    assert here(words_of(tmp_path, body), tmp_path / "home")[0] == 0


EXITS = {
    "answer": "def classify(self, images): os._exit({code})",
    "prepare": "def prepare(self, image): os._exit({code})",
    "platform": "def classify(self, images): __import__(os.name)._exit({code})",
    "constructor": "def __init__(self): os._exit({code})",
    "identity": "def identity(self): os._exit({code})",
    "thread": """
def classify(self, images):
    thread = threading.Thread(target=os._exit, args=({code},))
    thread.start()
    thread.join()
    return Net.classify(self, images)""",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("where", EXITS)
def test_a_model_that_leaves_the_process_is_an_error(tmp_path, where) -> None:
    words = words_of(tmp_path, EXITS[where].format(code=0))
    code, _, err = here([*words, "--fail-if", "accuracy<1"], tmp_path / "home")
    assert code == 2
    one_line_of(err, "odd.py:Odd' called os._exit(0)", "raise an exception there instead")
    assert not (tmp_path / "run").exists()
    assert os._exit.__module__ == "posix"


def test_a_whole_process_cannot_be_left_as_if_it_were_done(tmp_path) -> None:
    code, _, err = finish(words_of(tmp_path, EXITS["answer"].format(code=0)), tmp_path / "home")
    assert code == 2
    one_line_of(err, "called os._exit(0)")
    code, _, err = finish(words_of(tmp_path, EXITS["answer"].format(code=9)), tmp_path / "home")
    assert (code, err) == (9, "")


LIBRARY_EXITS = {
    "a call": "CDLL(None).exit(0)",
    "a call that holds Python's lock": "PyDLL(None).exit(0)",
    "a thread of the library": """
    thread, libc = ctypes.c_ulong(), ctypes.CDLL(None)
    libc.pthread_create(ctypes.byref(thread), None, libc.exit, None)
    libc.pthread_join(thread, None)""",
}


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="glibc alone takes handlers back")
@pytest.mark.parametrize("how", LIBRARY_EXITS)
def test_a_library_that_leaves_the_process_is_an_error(tmp_path, how) -> None:
    body = f"def classify(self, images): ctypes.{LIBRARY_EXITS[how]}"
    if "thread" in how:
        body = f"def classify(self, images):{LIBRARY_EXITS[how]}"
    words = words_of(tmp_path, f"import ctypes\n{body.replace('ctypes.', 'self.ctypes.')}")
    code, _, err = finish([*words, "--fail-if", "accuracy<1"], tmp_path / "home")
    assert code == 2
    one_line_of(err, "odd.py:Odd' called exit() of the C library, which would end the command")
    assert not (tmp_path / "run").exists()


def test_processes_that_are_forked_meanwhile_may_end(tmp_path) -> None:
    with exits_are_errors("it"):
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(UserError, match=r"it called sys\.exit\(0\)"), exits_are_errors("it"):
        raise SystemExit(0)


def test_blocks_of_several_threads_give_the_exit_back(tmp_path) -> None:
    inside, leave = threading.Barrier(2), threading.Event()

    def other() -> None:
        with exits_are_errors("other"):
            inside.wait()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    with exits_are_errors("it"):
        inside.wait()
    assert os._exit.__module__ != "posix"
    leave.set()
    thread.join()
    assert os._exit.__module__ == "posix"


FAILURES = {
    "identity() of": [
        "def identity(self): return {}",
        ("None", "['a']", "{'a': 1, 2: 3}", "{'a': object()}"),
    ],
    "usage() of": ["def usage(self): return {}", ("None", "{'a': object()}", "3")],
    "KeyError": ["def identity(self): raise KeyError({})", ("1",)],
    "RuntimeError: no": ["@property\ndef labels(self): raise RuntimeError({})", ("'no labels yet'",)],
    "RuntimeError: old": ["@property\ndef version(self): raise RuntimeError({})", ("'older'",)],
    "Unreadable: (no text: ValueError)": [
        "{}",
        (
            "def classify(self, images): raise Unreadable",
            "def identity(self): raise Unreadable",
            "def __init__(self): raise Unreadable",
            "def prepare(self, image): raise Unreadable",
            "def usage(self): raise Unreadable",
            "def __getattr__(self, name): raise Unreadable",
        ),
    ],
    "hold 'c\\ud800'": ["labels = ({})", (", ".join(f"'c{code}'" for code in ["\\ud800", *"abcdef"]),)],
    "OddError": ["def classify(self, images): raise type('OddError', (BaseException,), {{}})({})", ("3",)],
}


@pytest.mark.parametrize(
    ("told", "body"),
    [(told, body.format(value)) for told, (body, values) in FAILURES.items() for value in values],
)
def test_what_a_model_says_of_itself_wrongly_is_one_line(tmp_path, told, body) -> None:
    code, _, err = here(words_of(tmp_path, body), tmp_path / "home")
    assert code == 2
    one_line_of(err, told)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "body",
    [
        "version = '1\\ud800'",
        "def identity(self): return {'name': 'x\\ud800', 'layers': 12}",
        "def usage(self): return {'served_as': ['a\\udfff']}",
        "def answer(self, images, prompts): return ['c\\ud8001'] * len(prompts)",
    ],
)
def test_half_of_a_surrogate_pair_is_written_as_its_escape(tmp_path, body) -> None:
    asked = "answers_questions" if "answer" in body else "classifies_images"
    manifests = []
    for _ in range(2):  # the second time with what was kept
        code, _, err = here(words_of(tmp_path, body, ask=asked), tmp_path / "home")
        assert code == 0, err
        manifests.append((tmp_path / "run" / "manifest.json").read_bytes())
        assert json.loads(manifests[-1])
    assert b"\\ud800" in manifests[0] or b"\\udfff" in manifests[0] or "answer" in body


def test_a_damaged_store_of_answers_is_told(tmp_path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(AnswerStore(path)) as store:
        store.put({b"1": np.ones(3, np.float32), b"2": "yes", b"3": NotAnswered("no", "why")})
        store.put_facts({"labels": ["a", "b"]})
        assert set(store.get([b"1", b"2", b"3"])) == {b"1", b"2", b"3"}
    damages = [
        "update answers set value = x'0000803f0000803f0000803e' where key = x'31'",
        "update answers set value = x'00' where key = x'31'",
        "update answers set value = 'no' where key = x'32'",
        "update answers set kind = 'floats' where key = x'32'",
        "update answers set value = '[1' where key = x'33'",
        "update answers set value = 7 where key = x'33'",
        "update facts set value = '[1'",
    ]
    for damage in damages:
        other = tmp_path / "other.sqlite"
        other.write_bytes(path.read_bytes())
        with closing(sqlite3.connect(other)) as connection:
            connection.execute(damage)
            connection.commit()
        with (
            closing(AnswerStore(other)) as store,
            pytest.raises(InputError, match=r"damaged: .*delete the file"),
        ):
            (store.facts(), store.get([b"1", b"2", b"3"]))
    other.write_bytes(b"no database at all, but long enough to be looked at")
    with pytest.raises(InputError, match="delete the file"):
        AnswerStore(other)


def test_a_store_from_before_checksums_is_read(tmp_path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(AnswerStore(path)) as store:
        store.put({b"1": "yes"})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("alter table answers drop column checksum")
    with closing(AnswerStore(path)) as store:
        assert store.get([b"1"]) == {b"1": "yes"}


def test_a_file_that_changed_under_one_version_is_told(tmp_path) -> None:
    words = words_of(tmp_path, "pass")
    said = []
    for more in ("", "\n# trained again\n", "\n# trained again\n"):
        with (tmp_path / "odd.py").open("a") as stream:
            stream.write(more)
        said.append(here(words, tmp_path / "home")[2])
    assert said[0] == ""
    for line in said[1:]:
        assert "although odd.py changed since then and its version is the same" in line
        assert len(line.splitlines()) == 1
    assert here([*words, "--forget-answers"], tmp_path / "home")[2] == ""
    (tmp_path / "odd.py").write_text((tmp_path / "odd.py").read_text().replace('"1"', '"2"'))
    assert here(words, tmp_path / "home")[2] == ""


def test_a_text_that_cannot_be_had_is_named_by_its_exception() -> None:
    broken = SimpleNamespace()
    assert one_line(broken).startswith("namespace")

    class Silent:
        def __str__(self) -> str:
            raise ValueError

    assert one_line(Silent()) == "(no text: ValueError)"
