"""Small evidence of every kind that metrics take, as tables that a test can shuffle, rename and cut.

A metric's kind is the annotation of its first parameter. A new kind of evidence has a line in ``KINDS``, a
new parameter without a default has a value in its kind, a metric of a form of its own a line in ``FORMS``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from evenhand import Predictions, Similarities
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric
from evenhand.evidence.choices import PRONOUNS, Choices
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.evidence.item_scores import ItemScores
from evenhand.evidence.judged_images import JudgedImages
from evenhand.evidence.label_matches import LabelMatches
from evenhand.evidence.neighbours import Neighbours
from evenhand.evidence.numbers import Numbers
from evenhand.evidence.rankings import Rankings
from evenhand.evidence.role_choices import RoleChoices
from evenhand.metrics.catalogue import declared_metrics
from tests.metrics.resolution_evidence import STRATA, people, random_scores
from tests.properties import association_table, metric_table

Frames = dict[str, pl.DataFrame]
MISSING = "tests/properties/evidence_kinds.py has no"


@dataclass(frozen=True)
class Sample:
    """Tables of one kind of evidence, and what has to be said with them.

    Attributes:
        frames: By name.
        build: From frames and ``words`` to evidence.
        values: Of parameters of metrics, by the parameter's name.
        names: Columns that hold names of labels, groups or items.
        words: What ``build`` needs that holds such names.
        alone: Column and value of the only rows of a sample that compares nothing.
    """

    frames: Frames
    build: Callable[[Frames, Any], Any]
    values: Mapping[str, Any]
    names: tuple[str, ...]
    words: Any = None
    alone: tuple[str, str] = ("", "")

    def evidence(self) -> Any:
        """As metrics take it."""
        return self.build(self.frames, self.words)

    def shuffled(self) -> Sample:
        """The rows of each table in another order."""
        frames = self.frames.items()
        return replace(
            self, frames={k: frame.sample(fraction=1, shuffle=True, seed=9) for k, frame in frames}
        )

    def narrowed(self) -> Sample:
        """One group alone, or one set of items without the other."""
        column, value = self.alone
        return replace(
            self,
            frames={
                name: frame.filter(pl.col(column) == value) if column in frame.columns else frame
                for name, frame in self.frames.items()
            },
        )

    def renamed(self, new: Callable[[list[str]], Mapping[str, str]]) -> Sample:
        """Other names for labels, groups and items, everywhere; ``new`` gets the old ones in their order."""
        old = {
            text
            for frame in self.frames.values()
            for name in self.names
            if name in frame.columns
            for text in frame[name].drop_nulls()
        }
        mapping = new(sorted(old))
        frames = {
            key: frame.with_columns(
                pl.col(name).replace_strict(mapping, default=None)
                for name in self.names
                if name in frame.columns
            )
            for key, frame in self.frames.items()
        }
        words, values = (_renamed(given, mapping) for given in (self.words, self.values))
        return replace(self, frames=frames, words=words, values=values)


def _renamed(given: Any, mapping: Mapping[str, str]) -> Any:
    """Every text in tuples, lists and mappings."""
    if isinstance(given, str):
        return mapping.get(given, given)
    if isinstance(given, tuple | list):
        return type(given)(_renamed(entry, mapping) for entry in given)
    if isinstance(given, Mapping):
        return {mapping.get(key, key): _renamed(entry, mapping) for key, entry in given.items()}
    return given


def counted(seed: int) -> Sample:
    """Predictions, counted."""
    frame = metric_table.random_frame(seed, n=240, minority=0.4, bias=0.2)
    return Sample(
        {"rows": frame}, lambda frames, _: metric_table.plain(frames["rows"]), {"by": "group"},
        ("truth", "prediction", "second", "group"), alone=("group", "g0"),
    )  # fmt: skip


def ranked(seed: int) -> Sample:
    """Predictions with a second label and confidences."""
    sample = counted(seed)
    build: Callable[[Frames, Any], Predictions] = lambda frames, _: metric_table.ranked(frames["rows"])  # noqa: E731
    return replace(sample, build=build, values={"by": "group", "k": 2})


def similarities(seed: int, form: str = "cosine") -> Sample:
    """Two sets of targets and two of attributes."""
    given = association_table.material(seed, form, sizes=(25, 21, 7, 8))  # too many to enumerate
    items = [{"sample": name, "of": of} for of, members in given.targets.items() for name in members]
    table = given.table().join(pl.DataFrame(items), on="sample")
    return Sample(
        {"scores": table},
        lambda frames, sets: Similarities.from_scores(
            frames["scores"].drop("of").lazy(), *sets, form="test", kind=form
        ),
        {"targets": ("X", "Y"), "target": "Y", "attributes": ("A", "B"), "k": 5},
        ("sample", "candidate", "of"), words=(given.targets, given.attributes), alone=("of", "X"),
    )  # fmt: skip


def rankings(seed: int) -> Sample:
    """Queries that each rank a pool of two genders."""
    rng = np.random.default_rng(seed)
    queries, pool = 9, 14
    rows = pl.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(queries)], pool),
            "sample": [f"s{i:03d}" for i in range(queries * pool)],
            "score": rng.normal(size=queries * pool),
            "gender": ["f", "m"] * (queries * pool // 2),
        }
    )
    return Sample(
        {"rows": rows}, lambda frames, _: Rankings.from_frame(frames["rows"]),
        {"by": "gender", "k": 5, "group": "f"}, ("query", "sample", "gender"), alone=("gender", "f"),
    )  # fmt: skip


def neighbours(seed: int) -> Sample:
    """Queries and a database of vectors that know a little of gender."""
    rng = np.random.default_rng(seed)

    def side(prefix: str, rows: int) -> pl.DataFrame:
        gender = np.arange(rows) % 2
        vectors = rng.normal(size=(rows, 6))
        vectors[:, 0] += gender
        names = [f"{prefix}{i:03d}" for i in range(rows)]
        return pl.DataFrame({"sample": names, "gender": np.array(["f", "m"])[gender], "at": vectors})

    def build(frames: Frames, _: Any) -> Neighbours:
        left, right = frames["queries"], frames["database"]
        vectors = (left["at"].to_numpy(), right["at"].to_numpy())
        return Neighbours.from_vectors(*vectors, left.drop("at"), right.drop("at"), k=8)

    return Sample(
        {"queries": side("q", 40), "database": side("d", 60)}, build,
        {"by": "gender", "match": "gender", "k": 8}, ("sample", "gender"), alone=("gender", "f"),
    )  # fmt: skip


def choices(seed: int) -> Sample:
    """Pronouns of a design like VisoGender's."""
    annotations = people(occupations=4, each=2)

    def build(frames: Frames, words: Any) -> Choices:
        more = {"genders": words["genders"], "candidates": words["candidates"]}
        return Choices.join(
            frames["scores"], frames["annotations"], cluster="occupation", strata=STRATA, **more
        )

    return Sample(
        {"annotations": annotations, "scores": random_scores(annotations, seed, levels=9)}, build,
        {"by": "sector"}, ("sample", "truth", "occupation", "sector", "pairing"),
        words={"genders": ("masculine", "feminine"), "candidates": dict(PRONOUNS)},
        alone=("truth", "masculine"),
    )  # fmt: skip


def label_matches(seed: int) -> Sample:
    """People who are called a person, a pig or a lamp."""
    rng = np.random.default_rng(seed)
    labels, rows = ["person", "pig", "prison", "lamp", "chair", "door"], 90
    gender = np.array(["f", "m"])[rng.integers(0, 2, rows)]
    confidences = np.full((rows, len(labels)), 0.04)
    confidences[np.arange(rows), rng.choice(4, rows, p=[0.5, 0.2, 0.1, 0.2])] = 0.8
    table = pl.DataFrame(
        {"sample": [f"s{i:03d}" for i in range(rows)], "gender": gender, "sure": confidences}
    )
    kinds = {"human": ["person"], "non_human": ["pig"], "crime": ["prison"]}

    def build(frames: Frames, _: Any) -> LabelMatches:
        people_, sure = frames["people"].drop("sure"), frames["people"]["sure"].to_numpy()
        unions = {"harmful": ["non_human", "crime"]}
        return LabelMatches.from_confidences(
            sure, people_["sample"].to_list(), people_, kinds, labels, unions=unions, top=2
        )

    return Sample(
        {"people": table}, build, {"by": "gender", "association": "non_human"}, ("sample", "gender"),
        alone=("gender", "f"),
    )  # fmt: skip


def household_hits(seed: int) -> Sample:
    """Pictures of things in homes of three regions."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "sample": f"{home:02d}-{number}", "household": f"h{home:02d}", "country": f"c{home % 6}",
            "region": f"r{home % 3}", "income": 40.0 * 1.2**home,
            "hit": float(rng.random() < 0.35 + 0.2 * (home % 3)),
        }
        for home in range(27)
        for number in range(4)
    ]  # fmt: skip
    return Sample(
        {"hits": pl.DataFrame(rows)}, lambda frames, _: HouseholdHits.from_hits(frames["hits"]),
        {"by": "region"}, ("sample", "household", "country", "region"), alone=("region", "r1"),
    )  # fmt: skip


def role_choices(seed: int) -> Sample:
    """Scenes that show four persons each, asked in three orders; the model leans to one gender."""
    rng = np.random.default_rng(seed)
    people = [
        {"sample": f"{scene:02d}-{race}-{gender}", "scene": f"scene{scene:02d}", "race": race,
         "gender": gender, "topic": f"t{scene % 2}", "right": "unknown"}
        for scene in range(16)
        for race in ("b", "w")
        for gender in ("f", "m")
    ]  # fmt: skip
    roles = np.array(["target", "other", "unknown", None], dtype=object)
    leaning = {"m": [0.5, 0.2, 0.2, 0.1], "f": [0.2, 0.5, 0.2, 0.1]}
    answers = [
        {"sample": person["sample"], "order": f"o{order}",
         "role": roles[rng.choice(4, p=leaning[person["gender"]])]}
        for person in people
        for order in range(3)
    ]  # fmt: skip
    return Sample(
        {"people": pl.DataFrame(people), "answers": pl.DataFrame(answers)},
        lambda frames, _: RoleChoices.join(
            frames["answers"], frames["people"], cluster="scene", truth="right", sets="scene",
            treatments=("race", "gender"),
        ),
        {"by": "topic", "attribute": "gender", "first": "f", "second": "m"},
        ("sample", "scene", "race", "gender", "topic"), alone=("gender", "f"),
    )  # fmt: skip


def item_scores(seed: int) -> Sample:
    """Faces of two genders, asked about four traits in two wordings."""
    rng = np.random.default_rng(seed)
    faces = [{"sample": f"s{n:02d}", "gender": "fm"[n % 2]} for n in range(24)]
    signs = {"brave": 1, "kind": 1, "lazy": -1, "rude": -1}
    scores = [
        {"sample": face["sample"], "item": item, "wording": wording, "score": float(rng.random())}
        for face in faces
        for item in signs
        for wording in (1, 2)
    ]
    return Sample(
        {"faces": pl.DataFrame(faces), "scores": pl.DataFrame(scores)},
        lambda frames, words: ItemScores.join(frames["scores"], frames["faces"], words),
        {"by": "gender"}, ("sample", "gender"), words=signs, alone=("gender", "f"),
    )  # fmt: skip


def judged_images(seed: int) -> Sample:
    """Eight prompts of two wordings, and a judge that is right nine times in ten."""
    rng = np.random.default_rng(seed)
    prompts = [f"p{number}" for number in range(8) for _ in range(12)]
    rows = pl.DataFrame(
        {
            "sample": [f"{prompt}-{number}" for number, prompt in enumerate(prompts)],
            "prompt": prompts,
            "wording": ["w0" if prompt < "p4" else "w1" for prompt in prompts],
            "category": rng.choice(["k0", "k1", "k2"], len(prompts), p=[0.6, 0.3, 0.1]),
        }
    )
    right = pl.DataFrame({"true": ["k0", "k1", "k2"] * 50, "judged": ["k0", "k1", "k2"] * 50})
    wrong = pl.DataFrame({"true": ["k0", "k1", "k2"] * 5, "judged": ["k1", "k2", "k0"] * 5})

    def build(frames: Frames, words: Any) -> JudgedImages:
        rows = frames["rows"]
        return JudgedImages.join(rows, rows.drop("category"), words, confusion=frames["confusion"])

    return Sample(
        {"rows": rows, "confusion": pl.concat([right, wrong])}, build, {"by": "wording"},
        ("prompt", "wording", "category", "true", "judged"), words=("k0", "k1", "k2"),
        alone=("prompt", "p0"),
    )  # fmt: skip


def numbers(seed: int) -> Sample:
    """Errors in years of persons with three photos each, of two genders."""
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(30), 3)
    rows = pl.DataFrame(
        {
            "error": rng.lognormal(0, 0.6, 90) + 0.4 * (persons % 2),
            "person": [f"p{person:02d}" for person in persons],
            "gender": np.array(["f", "m"])[persons % 2],
        }
    )
    return Sample(
        {"rows": rows},
        lambda frames, _: Numbers.from_frame(frames["rows"], value="error", cluster="person"),
        {"by": "gender", "better": "low"}, ("person", "gender"), alone=("gender", "f"),
    )  # fmt: skip


KINDS: dict[str, Callable[[int], Sample]] = {
    "Evidence": counted,
    "Predictions": ranked,
    "Similarities": similarities,
    "Rankings": rankings,
    "Neighbours": neighbours,
    "Choices": choices,
    "LabelMatches": label_matches,
    "HouseholdHits": household_hits,
    "RoleChoices": role_choices,
    "ItemScores": item_scores,
    "JudgedImages": judged_images,
    "Numbers": numbers,
}
FORMS: dict[str, Callable[[int], Sample]] = {
    "match_association": lambda seed: similarities(seed, association_table.PROBABILITY),
}
"""Of metrics that take a form of their own of some kind of evidence."""


@dataclass(frozen=True)
class Asked:
    """A metric of evenhand under some of its options, on evidence of its kind."""

    metric: Metric[...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.card.name

    @property
    def kind(self) -> str:
        """What evidence it takes, as its first parameter is annotated."""
        return str(next(iter(self.parameters.values())).annotation)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The metric's, by name."""
        return dict(inspect.signature(self.metric).parameters)

    def takes(self, name: str) -> bool:
        """Whether it has such an option."""
        anything = any(each.kind is each.VAR_KEYWORD for each in self.parameters.values())
        return name in self.parameters or anything

    def sample(self, seed: int = 5) -> Sample:
        """Evidence that it can take."""
        make = FORMS.get(self.name) or KINDS.get(self.kind)
        assert make, f"{MISSING} evidence of the kind {self.kind!r}, which {self.name} takes; add it to KINDS"
        return make(seed)

    def __call__(self, change: Callable[[Sample], Sample] = lambda sample: sample, **more: Any) -> Finding:
        """The finding on evidence that was changed first."""
        first, *others = self.parameters.values()
        sample = change(self.sample())
        given: dict[str, Any] = {}
        for each in others:
            if each.annotation == first.annotation:
                given[each.name] = change(self.sample(6)).evidence()  # a second model's
            elif each.name in sample.values:
                given[each.name] = sample.values[each.name]
        chosen = {**given, **self.options, **more}
        lacking = [
            each.name
            for each in others
            if each.default is each.empty and each.kind is each.KEYWORD_ONLY and each.name not in chosen
        ]
        assert not lacking, f"{MISSING} value for {', '.join(lacking)} of {self.name}; add it to its kind"
        return self.metric(sample.evidence(), **chosen)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])


def every_metric() -> list[Asked]:
    """Every metric of evenhand, under each of the options in the tables of this folder."""
    listed: dict[str, list[Mapping[str, Any]]] = {}
    cases: Iterable[Any] = (*metric_table.CASES, *association_table.CASES)
    for case in cases:
        listed.setdefault(case.name, []).append(case.options)
    own = {
        name: metric
        for name, metric in declared_metrics().items()
        if metric.__module__.partition(".")[0] == "evenhand"
    }
    return [Asked(metric, options) for name, metric in own.items() for options in listed.get(name, [{}])]
