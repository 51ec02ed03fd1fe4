"""Figure 4 of the MMBias paper: embeddings on a plane, before and after a mitigation.

It is made here and not with the benchmark's other artifacts because it applies a mitigation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.mmbias.data.groups import NAMES
from evenhand.benchmarks.papers.mmbias.published import class_of
from evenhand.benchmarks.papers.mmbias.rows import RUNS, is_debias, needed_table
from evenhand.benchmarks.papers.rows import OURS, Row, named_by_tags
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, MissingExtra
from evenhand.core.figure import Figure
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate.mitigation import Mitigation
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.arrays import Floats

COMPONENTS, NEIGHBOURS, PERPLEXITY = 100, 5, 30.0
BEFORE = "before"
_SCHEMA = {
    **dict.fromkeys(("source", "part", "model", "stage", "class", "group", "sample", "measure"), pl.String),
    **dict.fromkeys(("across", "up", "value"), pl.Float64),
    "reason": pl.String,
}
_COMMAND = "evenhand run mmbias/association --model URI -o DIR"
_TABLES = {"image": "images", "text": "texts"}


@dataclass(frozen=True, eq=False)
class GroupVectors:
    """Embeddings of targets with the group of each."""

    samples: list[str]  # ids or prompts
    groups: list[str]  # the set of each sample
    vectors: Floats  # (N, D)
    modality: str  # image or text
    dropped: Mapping[str, int]  # without a usable vector, or of a second group


def read_vectors(run: RunFolder, modality: str) -> GroupVectors:
    """The embeddings of a run's targets; ``auto``: of images where the run has them."""
    members = needed_table(run, "members", "mmbias/figure4", _COMMAND).filter(role="target")
    present = [name for name in _TABLES if (members["modality"] == name).any()]
    selected_modality = present[0] if modality == "auto" and present else modality
    parts = sorted(
        Path(run.folder or ".")
        .joinpath("evidence", _TABLES.get(selected_modality, "images"))
        .glob("*.parquet")
    )
    if run.folder is None or selected_modality not in present or not parts:
        raise InputError(
            f"mmbias/figure4 needs embeddings of targets ({modality}), and the run has them for "
            f"{', '.join(present) or 'nothing'}; type: {_COMMAND}"
        )
    selected = members.filter(modality=selected_modality).select("set", "sample").unique(maintain_order=True)
    single = selected.unique("sample", keep="first", maintain_order=True)
    table = pl.concat([pl.scan_parquet(part) for part in parts]).select("sample", "vector").collect()
    vector_rows = single.join(table, on="sample", how="inner", maintain_order="left")
    vectors = np.array(vector_rows["vector"].to_list(), dtype=np.float64).reshape(vector_rows.height, -1)
    usable = np.isfinite(vectors).all(axis=1) & (np.abs(vectors).sum(axis=1) > 0)
    vector_rows = vector_rows.filter(pl.Series(usable))
    counts = {
        "in a second group": selected.height - single.height,
        "without a usable vector": single.height - vector_rows.height,
    }
    dropped = occurring(counts)
    return GroupVectors(
        vector_rows["sample"].to_list(),
        vector_rows["set"].to_list(),
        vectors[usable],
        selected_modality,
        dropped,
    )


def principal_components(vectors: Floats) -> Floats:
    """The first 100 principal components of vectors of length 1, or as many as there are."""
    unit = normalised(vectors)
    centred = unit - unit.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    n_components = min(COMPONENTS, int((sizes > 1e-10 * max(sizes[0], 1e-300)).sum()), len(vectors) - 1)
    scores = left[:, : max(n_components, 2)] * sizes[: max(n_components, 2)]
    return np.asarray(scores * np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])]))


def separability(points: Floats, groups: Sequence[str]) -> dict[str, float]:
    """How far groups lie apart: ``knn_accuracy`` and ``silhouette``.

    ``knn_accuracy`` is the share of points whose 5 nearest others are mostly of their own group, ties for the
    nearer; ``silhouette`` is a mean, in [-1, 1], NaN with one group or one for each point.
    """
    metrics, neighbours = _sklearn("metrics"), _sklearn("neighbors")
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    k = min(NEIGHBOURS, len(points) - 1)
    nearest = neighbours.NearestNeighbors(n_neighbors=k).fit(points).kneighbors(return_distance=False)
    votes = np.zeros((len(points), codes.max() + 1))
    for rank in range(k):
        votes[np.arange(len(points)), codes[nearest[:, rank]]] += 1 + 1e-6 * (k - rank)
    alone = len(set(codes.tolist())) in (1, len(points))
    return {
        "knn_accuracy": float((votes.argmax(axis=1) == codes).mean()),
        "silhouette": float("nan") if alone else float(metrics.silhouette_score(points, codes)),
    }


def on_a_plane(points: Floats, seed: int) -> Floats:
    """t-SNE of principal components, shape (N, 2); the same for the same seed."""
    manifold = _sklearn("manifold")
    perplexity = min(PERPLEXITY, max((len(points) - 1) / 3, 1.0))
    start = points[:, :2] / max(float(points[:, 0].std()), 1e-12) * 1e-4
    tsne = manifold.TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=seed)
    return np.asarray(tsne.fit_transform(points.astype(np.float32)), dtype=np.float64)


def _sklearn(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"sklearn.{name}")
    except ImportError:
        raise MissingExtra("scikit-learn", "debias") from None


def _figure4(runs: Sequence[RunFolder], setting: Setting) -> Made:
    run_pairs = named_by_tags(runs)
    measured = [(name, run) for name, run in run_pairs if not is_debias(run)]
    if len(measured) != 1:
        raise InputError(
            f"mmbias/figure4 is made from one run of mmbias/association ({len(measured)} given) and runs of "
            "evenhand debias; type: evenhand artifact mmbias/figure4 RUN DEBIASRUN -o FILE"
        )
    model, run = measured[0]
    group_vectors = read_vectors(run, str(setting.parameters["modality"]))
    if len(set(group_vectors.groups)) < 2 or len(group_vectors.groups) < 4:
        raise InputError("mmbias/figure4 needs four samples of at least two groups; give a run with more")
    rows: list[Row] = []
    stages = {BEFORE: group_vectors.vectors}
    for stage, mitigation in _mitigations(
        [debias_run for _, debias_run in run_pairs if is_debias(debias_run)], setting
    ):
        stages[stage] = np.asarray(mitigation.transform(group_vectors.vectors, group_vectors.modality))
    for stage, vectors in stages.items():
        rows += _stage(group_vectors, vectors, {"source": OURS, "model": model, "stage": stage}, setting.seed)
    largest = max(group_vectors.groups.count(group) for group in set(group_vectors.groups))
    notes = [
        "Distances between clusters mean little on such a plane; read the numbers. They are of all samples, "
        "of which some may have served to fit the mitigation.",
        f"Vectors of length 1, first {COMPONENTS} principal components, then t-SNE with seed {setting.seed}. "
        f"Always naming the largest group would be right for {largest / len(group_vectors.groups):.3f}.",
        *(f"{count} samples {reason} are left out." for reason, count in group_vectors.dropped.items()),
    ]
    return Made(pl.DataFrame(rows, schema=_SCHEMA), tuple(notes))


def _mitigations(runs: Sequence[RunFolder], setting: Setting) -> Iterator[tuple[str, Mitigation]]:
    """From debias runs, and from the file given; each with a name of its own."""
    choice = str(setting.parameters["mitigation"])
    of_runs = [_of_run(run, choice) for run in runs]
    files = list(of_runs)
    if choice and not any(pair for _, pair in of_runs):
        files.append((Path(choice).expanduser(), ""))
    for number, (file, pair) in enumerate(files, 1):
        mitigation = Mitigation.load(file)
        which = f" of {pair}" if pair else ""
        yield f"after {mitigation.name}{which}{f' ({number})' if len(files) > 1 else ''}", mitigation


def _of_run(run: RunFolder, choice: str) -> tuple[Path, str]:
    """The file of a debias run's mitigation, and the pair that it is of where each pair has one."""
    folder = Path(run.folder or ".")
    joint, of_pairs = folder / "mitigation.safetensors", folder / "mitigations"
    if joint.is_file():
        return joint, ""
    names = sorted(file.stem for file in of_pairs.glob("*.safetensors"))
    if choice in names:
        return of_pairs / f"{choice}.safetensors", choice
    raise InputError(
        f"{str(folder)!r} has a mitigation for each pair; choose one with -p mitigation=NAME: "
        f"{', '.join(names) or 'none is there'}"
    )


def _stage(group_vectors: GroupVectors, vectors: Floats, lead: Row, seed: int) -> Iterator[Row]:
    """Points of one panel, and the numbers on how far groups lie apart."""
    points = principal_components(vectors)
    plane = on_a_plane(points, seed)
    for index, (sample, group) in enumerate(zip(group_vectors.samples, group_vectors.groups, strict=True)):
        yield {
            **lead, "part": "map", "class": class_of(group), "group": NAMES.get(group, group),
            "sample": sample, "across": float(plane[index, 0]), "up": float(plane[index, 1]),
        }  # fmt: skip
    for where, space in (("components", points), ("plane", plane)):
        for measure, value in separability(space, group_vectors.groups).items():
            finite_value = None if np.isnan(value) else value
            words = f"{measure.replace('_', ' ').replace('knn', 'kNN')}, {where}"
            yield {
                **lead, "part": "separability", "measure": words, "value": finite_value,
                "reason": None if finite_value is not None else "undefined",
            }  # fmt: skip


FIGURE4 = Artifact(
    "mmbias/figure4",
    "Embeddings of each group on a plane, before and after a mitigation",
    _figure4,
    (
        Figure(
            "scatter", x="across", y="up", colour="group", facet="stage", only={"part": "map"}, columns=2,
            independent=("x", "y"), titles={"across": "", "up": "", "group": ""},
        ),
        Figure(
            "table", x="stage", value="value", levels=("measure",), only={"part": "separability"},
            titles={"measure": ""}, title="How far the groups lie apart",
        ),
    ),
    benchmarks=(RUNS,),
    parameters={
        "modality": Parameter("auto", ("auto", "image", "text"), "auto: images where the run has them"),
        "mitigation": Parameter(
            "", help="a file, beside the mitigations of debias runs; or one of a run with several, such as "
            "muslim--christian"
        ),
    },
)  # fmt: skip
