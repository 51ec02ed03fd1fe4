"""Figure 4 of the MMBias paper: embeddings on a plane, before and after a mitigation.

It is made here and not with the benchmark's other artifacts because it applies a mitigation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.mmbias.rows import RUNS, class_of, is_debias, name_of, needed_table
from evenhand.benchmarks.papers.rows import OURS, frame, named_by_tags
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, require_extra
from evenhand.core.figure import Figure
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate.mitigation import Mitigation
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.arrays import Floats

COMPONENTS, NEIGHBOURS, PERPLEXITY = 100, 5, 30.0
_COLUMNS = (
    "source", "part", "model", "stage", "class", "group", "sample", "measure", "across", "up", "value",
    "reason",
)  # fmt: skip
_COMMAND = "evenhand run mmbias/association --model URI -o DIR"


def _figure4(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Each stage on a plane of its own, and how far the groups lie apart in it."""
    sources = [(name, run) for name, run in named_by_tags(runs) if not is_debias(run)]
    if len(sources) != 1:
        raise InputError(
            f"mmbias/figure4 is made from one run of mmbias/association ({len(sources)} given) and runs of "
            "evenhand debias; type: evenhand artifact mmbias/figure4 RUN DEBIASRUN -o FILE"
        )
    [(model, run)] = sources
    targets, modality, dropped = _targets(run, setting.text("modality"))
    sizes = Counter(targets["group"])
    if len(sizes) < 2 or len(targets) < 4:
        raise InputError("mmbias/figure4 needs four samples of at least two groups; give a run with more")
    vectors = np.array(targets["vector"].to_list(), dtype=np.float64)
    stages = {"before": vectors}
    for stage, mitigation in _mitigations(runs, setting.text("mitigation")):
        stages[stage] = mitigation.transform(vectors, modality)
    require_extra("sklearn", "scikit-learn", "debias")
    parts = [_panel(targets, stage, of_stage, setting.seed) for stage, of_stage in stages.items()]
    table = pl.concat(parts).with_columns(source=pl.lit(OURS), model=pl.lit(model)).select(_COLUMNS)
    notes = (
        "Distances between clusters mean little on such a plane; read the numbers. They are of all samples, "
        "of which some may have served to fit the mitigation.",
        f"Vectors of length 1, first {COMPONENTS} principal components, then t-SNE with seed {setting.seed}. "
        f"Always naming the largest group would be right for {max(sizes.values()) / len(targets):.3f}.",
        *(f"{count} samples {reason} are left out." for reason, count in dropped.items()),
    )
    return Made(table, notes)


def _targets(run: RunFolder, choice: str) -> tuple[pl.DataFrame, str, dict[str, int]]:
    """Sample, group and vector of targets, of images for ``auto`` where it can be; how many are left out."""
    members = needed_table(run, "members", "mmbias/figure4", _COMMAND).filter(role="target")
    present = [name for name in ("image", "text") if name in members["modality"]]
    modality = present[0] if choice == "auto" and present else choice
    parts = sorted(run.folder.glob(f"evidence/{modality}s/*.parquet")) if run.folder else []
    if modality not in present or not parts:
        raise InputError(
            f"mmbias/figure4 needs embeddings of targets ({choice}), and the run has them for "
            f"{', '.join(present) or 'nothing'}; type: {_COMMAND}"
        )
    of_modality = members.filter(modality=modality).select("sample", group="set").unique(maintain_order=True)
    single = of_modality.unique("sample", keep="first", maintain_order=True)
    evidence = pl.read_parquet(parts, columns=["sample", "vector"])
    vectors = single.join(evidence, on="sample", maintain_order="left")
    usable = vectors.filter(
        [any(vector) and all(map(isfinite, vector)) for vector in vectors["vector"].to_list()]
    )
    dropped = {
        "in a second group": len(of_modality) - len(single),
        "without a usable vector": len(single) - len(usable),
    }
    return usable, modality, occurring(dropped)


def _mitigations(runs: Sequence[RunFolder], choice: str) -> Iterator[tuple[str, Mitigation]]:
    """From debias runs, of some of which each pair has its own, and from a file; each with a name."""
    files: list[tuple[Path, str]] = []
    for folder in [run.folder or Path() for run in runs if is_debias(run)]:
        joint = folder / "mitigation.safetensors"
        of_pairs = {file.stem: file for file in folder.glob("mitigations/*.safetensors")}
        if joint.is_file():
            files.append((joint, ""))
        elif choice in of_pairs:
            files.append((of_pairs[choice], f" of {choice}"))
        else:
            raise InputError(
                f"{str(folder)!r} has a mitigation for each pair; choose one with -p mitigation=NAME: "
                f"{', '.join(sorted(of_pairs)) or 'none is there'}"
            )
    if choice and not any(pair for _, pair in files):
        files.append((Path(choice).expanduser(), ""))
    for number, (file, pair) in enumerate(files, 1):
        mitigation = Mitigation.load(file)
        yield f"after {mitigation.name}{pair}{f' ({number})' if len(files) > 1 else ''}", mitigation


def _panel(targets: pl.DataFrame, stage: str, vectors: Floats, seed: int) -> pl.DataFrame:
    """Points of one panel, and the numbers on how far groups lie apart."""
    points = principal_components(vectors)
    plane = on_a_plane(points, seed)
    marks = targets.select(
        "sample", class_of("group"), name_of("group"), across=plane[:, 0], up=plane[:, 1], part=pl.lit("map")
    )
    rows = [
        {"part": "separability", "measure": f"{measure.replace('_', ' ').replace('knn', 'kNN')}, {where}",
         "value": value, "reason": "undefined" if np.isnan(value) else None}
        for where, space in (("components", points), ("plane", plane))
        for measure, value in separability(space, targets["group"]).items()
    ]  # fmt: skip
    numbers = frame(rows, ("part", "measure", "value", "reason")).fill_nan(None)
    return pl.concat([marks, numbers], how="diagonal").with_columns(stage=pl.lit(stage))


def principal_components(vectors: Floats) -> Floats:
    """The first 100 principal components of vectors of length 1, or as many as there are."""
    unit = normalised(vectors)
    left, sizes, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    rank = (sizes > 1e-10 * max(sizes[0], 1e-300)).sum()
    first = max(min(COMPONENTS, rank, len(vectors) - 1), 2)
    scores = left[:, :first] * sizes[:first]
    return np.asarray(scores * np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])]))


def separability(points: Floats, groups: Iterable[str]) -> dict[str, float]:
    """How far groups lie apart: ``knn_accuracy`` and ``silhouette``.

    ``knn_accuracy`` is the share of points whose 5 nearest others are mostly of their own group, ties for the
    nearer; ``silhouette`` is a mean, in [-1, 1], NaN with one group or one for each point.
    """
    from sklearn.metrics import silhouette_score
    from sklearn.neighbors import KNeighborsClassifier

    labels, k = list(groups), min(NEIGHBOURS, len(points) - 1)
    weights = 1 + 1e-6 * np.arange(k, 0, -1)  # so little more for the nearer that it decides only a tie
    votes = KNeighborsClassifier(k, weights=lambda distances: weights + 0 * distances).fit(points, labels)
    alone = len({*labels}) in (1, len(points))
    return {
        "knn_accuracy": float(votes.score(None, labels)),  # None: of all points, none its own neighbour
        "silhouette": float("nan") if alone else float(silhouette_score(points, labels)),
    }


def on_a_plane(points: Floats, seed: int) -> Floats:
    """t-SNE of principal components, shape (N, 2); the same for the same seed."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, max((len(points) - 1) / 3, 1.0))
    start = points[:, :2] / max(points[:, 0].std(), 1e-12) * 1e-4
    tsne = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=seed)
    return np.asarray(tsne.fit_transform(points.astype(np.float32)), dtype=np.float64)


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
