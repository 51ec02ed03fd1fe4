"""Demo runs of words beside pictures: VisoGender and MMBias."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS
from tests.benchmarks import mmbias_release, visogender_release
from tests.benchmarks.test_visogender_artifacts import LABOUR
from tests.gallery.planted import Needed, Pronouns, Valence, called, noise_between

LEANS = {"clip-a": (0.25, 1.0), "clip-b": (1.1, 0.5)}
"""Names of the demo's two models, with how much they follow the occupation, and the person."""

BAD = (
    "angry", "cruel", "dirty", "filthy", "grim", "harsh", "nasty", "painful", "rotten", "sad", "ugly",
)  # fmt: skip
GOOD = (
    "bright", "calm", "cheerful", "clean", "friendly", "gentle", "happy", "joyful", "kind", "lovely",
    "peaceful",
)  # fmt: skip
_ITEMS = 8


def pronouns(data: Path, runs: Path) -> None:
    """Both models on both benchmarks of VisoGender, all 23 occupations."""
    visogender_release.release(data, list(OCCUPATIONS))
    shares = {name: round(5 + 90 * noise_between("share", name), 1) for name in OCCUPATIONS}
    lines = [
        f"-\t-\t{name}\t-\t2022\t{male}\t{round(100 - male, 1)}\tNot averaged\t\t"
        for name, male in shares.items()
    ]
    (data / "US_Visogender_1.tsv").write_text("\n".join([LABOUR, *lines]), encoding="utf-8")
    rows = _persons(data)
    for name, lean in LEANS.items():
        for benchmark in ("resolution", "retrieval"):
            out = runs / f"{benchmark}-{name}"
            model = called(Pronouns(name, rows, shares, lean), name)
            tags = {"imagenet_zero_shot": {"clip-a": "63.2", "clip-b": "70.4"}[name]}
            eh.run(f"visogender/{benchmark}", model=model, data=data, tags=tags, out=out)


def _persons(data: Path) -> dict[str, tuple[str, str, str]]:
    """Occupation and genders of each sample, as the tables say."""
    found = {}
    for name, last in (("OO_Visogender_1.tsv", 8), ("OP_Visogender_1.tsv", 9)):
        for line in (data / name).read_text(encoding="utf-8").splitlines()[1:]:
            cells = line.split("\t")
            genders = cells[7:last]
            found[cells[0]] = (cells[3], genders[0], genders[1] if len(genders) > 1 else "")
    return found


def associations(data: Path, runs: Path) -> None:
    """One model on both benchmarks of MMBias, and a mitigation of it."""
    write_associations(data)
    model = Valence(_leans(), BAD, GOOD)
    out = {name: runs / name for name in ("association", "matching", "debias")}
    eh.run("mmbias/association", model=called(model, "clip-a"), data=data, out=out["association"])
    few = {"pairs": "muslim:christian,arab:american,lgbt:heterosexual,mental:non-disabled"}
    eh.run("mmbias/matching", model=called(model, "matcher"), data=data, parameters=few, out=out["matching"])
    eh.debias(out["association"], method="pruning", remove=4, form="cross-modal", out=out["debias"])


def write_associations(data: Path) -> None:
    """A release of MMBias with words and pictures of its own."""
    mmbias_release.release(data, phrases=_ITEMS, words=len(BAD), images=2)
    path = data / "data" / "textual_phrases.txt"
    phrases = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(
        json.dumps({**phrases, "unpleasant_phrases": BAD, "pleasant_phrases": GOOD}), encoding="utf-8"
    )
    _zips(data / "data" / "Images")


def _leans() -> dict[str, float]:
    """A lean of each group, from its name alone: which groups lean where means nothing."""
    pictured = [group for groups in mmbias_release.ZIPS.values() for group in groups]
    leans = {name: 3 * noise_between("lean", name) - 1.5 for name in (*pictured, *mmbias_release.KEYS)}
    return {**leans, "Pleasant": -1.5, "Unpleasant": 1.5}


def _zips(folder: Path) -> None:
    """Images of many sizes, whose first pixel says of which group they are, and which."""
    code = 0
    for name, groups in mmbias_release.ZIPS.items():
        entries = []
        for group in groups:
            entries += [(f"{name}/{group}/{n}.png", _tile(code, n)) for n in range(1, _ITEMS + 1)]
            code += 1
        mmbias_release.write_zip(folder / f"{name}.zip", entries)


def _tile(code: int, number: int) -> bytes:
    from io import BytesIO

    from PIL import Image

    width, height = (int(240 + 160 * noise_between(side, code, number)) for side in ("width", "height"))
    pixels = np.full((height, width, 3), (37 * code % 256, 90, 28 * number), dtype=np.uint8)
    pixels[0, 0] = (code, number, 7)
    stream = BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def needs() -> dict[str, Needed]:
    """How each table and figure of VisoGender and MMBias is made from these runs."""
    asked, ranked = ([f"{benchmark}-{name}" for name in LEANS] for benchmark in ("resolution", "retrieval"))
    viso: dict[str, Needed] = {f"visogender/{name}": {"runs": asked, "data": "visogender"} for name in (
        "table2", "table4", "table8", *(f"figure{n}" for n in (2, 3, 4, 5, 6, 8, 12)),
    )}  # fmt: skip
    for number, run in zip((9, 10), asked, strict=True):
        viso[f"visogender/figure{number}"] = {"runs": [run], "data": "visogender"}
    for name in ("table3", "table5", "figure7", "figure11"):
        viso[f"visogender/{name}"] = {"runs": ranked, "data": "visogender"}
    for name in ("table6", "table7"):
        viso[f"visogender/{name}"] = {"runs": [*asked, *ranked], "data": "visogender"}
    for name in ("table1", "table9", "table10", "figure13"):
        viso[f"visogender/{name}"] = {"data": "visogender"}
    return {
        **viso,
        "mmbias/table1": {"data": "mmbias"},
        "mmbias/table2": {"runs": ["association", "matching"]},
        "mmbias/table3": {"runs": ["debias"]},
        "mmbias/figure2": {"data": "mmbias", "parameters": {"images": "yes"}},
        "mmbias/figure3": {"data": "mmbias"},
        "mmbias/figure4": {"runs": ["association", "debias"]},
        "mmbias/figure5": {"runs": ["association"]},
        "mmbias/tradeoff": {"runs": ["debias"]},
    }
