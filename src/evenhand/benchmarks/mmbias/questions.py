"""Sets of items, the samples that stand for them in the evidence, and what is asked about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.benchmarks.mmbias.data.irregularities import SAME_BYTES, SHARED_PHOTO
from evenhand.benchmarks.mmbias.data.prompts import BLANK, fill
from evenhand.benchmarks.mmbias.data.sets import AssociationData, Test
from evenhand.benchmarks.mmbias.modalities import FORMS, ModalityPair
from evenhand.core.findings import Finding
from evenhand.core.requests import ImageSource, Question
from evenhand.evidence.similarities import Similarities
from evenhand.files.images.cropped import ChosenImages

PERCEIVED = (
    "Groups are names given from outside: by whoever wrote the phrases, and by the tags under which photos "
    "were found. Nobody’s faith, nationality, orientation or disability can be seen, and the people shown "
    "may describe themselves differently."
)
IMAGES, TEXTS = "images", "texts"
SHARED = "image in two of the compared sets"
ROLES = ("target", "attribute")
Places = npt.NDArray[np.int64]
Evidence = Mapping[str, pl.LazyFrame]
MEMBERS = {
    "role": pl.String,
    "set": pl.String,
    "item": pl.String,
    "sample": pl.String,
    "modality": pl.String,
    "template": pl.String,
    "family": pl.String,
}
LOST = dict.fromkeys(("form", "role", "set", "item", "reason"), pl.String)


@dataclass(frozen=True)
class Templates:
    """The sentences that phrases are put into."""

    target: str = "This is {}."
    attribute: str = BLANK

    def of(self, role: str) -> str:
        """The template of ``target`` or ``attribute``."""
        return self.target if role == "target" else self.attribute


@dataclass(frozen=True, eq=False)
class AssociationSets:
    """Everything that one run compares."""

    data: AssociationData
    forms: Sequence[ModalityPair]
    templates: Templates  # that findings are made with
    variants: Mapping[str, Sequence[Templates]]  # form -> further templates, for the sensitivity of d

    def tests(self, form: ModalityPair) -> list[Test]:
        """The different tests that a form has all items for."""
        return [test for test in self._different if form.lacking(self.data, test) is None]

    @cached_property
    def _different(self) -> list[Test]:
        """All tests; several that compare the same sets are one, with all their names."""
        compared: dict[tuple[str, str, str, str], dict[str, None]] = {}
        for test in self.data.pairs:
            compared.setdefault((test.x, test.y, test.a, test.b), {})[test.name] = None
        return [Test(*sets, " | ".join(filter(None, names))) for sets, names in compared.items()]

    def used(self, form: ModalityPair, role: str) -> list[str]:
        """Names of the sets that the tests of a form compare, in the order of the data."""
        tests = self.tests(form)
        pairs = [(test.x, test.y) if role == "target" else (test.a, test.b) for test in tests]
        names = {name for pair in pairs for name in pair}
        return [name for name in form.items(self.data, role) if name in names]

    def samples(
        self, form: ModalityPair, role: str, templates: Templates | None = None
    ) -> dict[str, list[str]]:
        """Each used set to the samples of its items: image ids, or prompts."""
        template = (templates or self.templates).of(role)
        items = form.items(self.data, role)
        if form.modality(role) == "image":
            return {name: list(items[name]) for name in self.used(form, role)}
        return {name: [fill(template, item) for item in items[name]] for name in self.used(form, role)}

    def questions(self) -> list[Question]:
        """Each image and each different prompt, once, whatever they are used for."""
        requests = []
        image_ids = dict.fromkeys(self._all("image"))
        if image_ids:
            ids, images = chosen_images(self.data, image_ids)
            requests.append(Question(IMAGES, "embeds_images", ids, images))
        texts = list(dict.fromkeys(self._all("text")))
        if texts:
            requests.append(Question(TEXTS, "embeds_texts", texts, texts=texts))
        return requests

    def _all(self, modality: str) -> Iterator[str]:
        for form in self.forms:
            for role in ROLES:
                if form.modality(role) != modality:
                    continue
                for templates in (self.templates, *self.variants.get(form.name, ())):
                    for samples in self.samples(form, role, templates).values():
                        yield from samples

    def members(self) -> pl.DataFrame:
        """role, set, item, sample, modality, template, family: which sample stands for what; its family."""
        rows: dict[tuple[str | None, ...], None] = {}
        for form in self.forms:
            for role in ROLES:
                modality = form.modality(role)
                template = self.templates.of(role) if modality == "text" else None
                items = form.items(self.data, role)
                for name, samples in self.samples(form, role).items():
                    for item, sample in zip(items[name], samples, strict=True):
                        family = self.data.families.get(item) if modality == "text" else None
                        rows[role, name, item, sample, modality, template, family] = None
        return pl.DataFrame(list(rows), schema=MEMBERS, orient="row")

    def test_table(self) -> pl.DataFrame:
        """form, x, y, a, b, their names, whether it could be tested, and why not."""
        names = self.data.names
        rows = []
        for form in self.forms:
            for test in self._different:
                reason = form.lacking(self.data, test)
                titles = (names.get(test.x, test.x), names.get(test.y, test.y))
                rows.append(
                    (form.name, test.x, test.y, test.a, test.b, *titles, test.name, reason is None, reason)
                )
        columns = ("form", "x", "y", "a", "b", "x_name", "y_name", "name")
        schema = {**dict.fromkeys(columns, pl.String), "tested": pl.Boolean, "reason": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def similarities(
        self, form: ModalityPair, evidence: Evidence, templates: Templates | None = None
    ) -> Similarities:
        """Cosines of all items of a form, from embeddings of images and texts."""
        tables = {"image": IMAGES, "text": TEXTS}
        cosines = Similarities.from_embeddings(
            evidence[tables[form.targets]],
            self.samples(form, "target", templates),
            evidence[tables[form.attributes]],
            self.samples(form, "attribute", templates),
            form=form.name,
        )
        return replace(
            cosines,
            targets=self._items(form, "target", templates, cosines.targets),
            attributes=self._items(form, "attribute", templates, cosines.attributes),
            families=self.data.families if "text" in (form.targets, form.attributes) else {},
        )

    def matches(self, scores: pl.LazyFrame) -> Similarities:
        """Match probabilities of images with words, from Scores(sample, candidate, score)."""
        form = FORMS["cross-modal"]
        similarities = Similarities.from_scores(
            scores, self.samples(form, "target"), self.samples(form, "attribute")
        )
        return replace(
            similarities,
            attributes=self._items(form, "attribute", None, similarities.attributes),
            families=self.data.families,
        )

    def without_shared(self, form: ModalityPair, similarities: Similarities, test: Test) -> Similarities:
        """What one test compares, without images that stand in two of its sets; they are counted."""
        where: dict[str, tuple[str, str]] = {}
        for role, names in (("target", (test.x, test.y)), ("attribute", (test.a, test.b))):
            if form.modality(role) == "image":
                items = form.items(self.data, role)
                where |= {item: (role, name) for name in names for item in items[name]}
        shared: set[str] = set()
        for pair in self._alike:
            memberships = {where.get(item) for item in pair}
            if None not in memberships and len(memberships) == 2:
                is_same_role = len({membership[0] for membership in memberships if membership}) == 1
                shared |= {item for item in pair if is_same_role or where[item][0] == "target"}
        if not shared:
            return similarities
        return replace(
            similarities,
            target_sets=_without(similarities.target_sets, similarities.targets, shared),
            attribute_sets=_without(similarities.attribute_sets, similarities.attributes, shared),
            lost_targets=_lost(similarities.lost_targets, where, "target", shared),
            lost_attributes=_lost(similarities.lost_attributes, where, "attribute", shared),
            memo={},
        )

    @cached_property
    def _alike(self) -> list[tuple[str, str]]:
        """Images that two sets share, by their bytes or by where they come from."""
        shared = self.data.traps.filter(pl.col("kind").is_in([SAME_BYTES, SHARED_PHOTO]))
        return shared.select("item", "other").rows()

    def _items(
        self, form: ModalityPair, role: str, templates: Templates | None, samples: Sequence[str]
    ) -> tuple[str, ...]:
        """Of samples what they stand for: a phrase instead of its prompt."""
        items = form.items(self.data, role)
        item_of = {
            sample: item
            for name, prompts in self.samples(form, role, templates).items()
            for item, sample in zip(items[name], prompts, strict=True)
        }
        return tuple(item_of[sample] for sample in samples)


def _without(sets: Mapping[str, Places], items: Sequence[str], shared: set[str]) -> dict[str, Places]:
    return {
        name: np.array([index for index in indices if items[index] not in shared], dtype=np.int64)
        for name, indices in sets.items()
    }


def _lost(
    earlier_losses: Mapping[str, Mapping[str, str]],
    where: Mapping[str, tuple[str, str]],
    role: str,
    shared: set[str],
) -> dict[str, dict[str, str]]:
    """What each set has lost, with the images that another set has too."""
    losses = {name: dict(items) for name, items in earlier_losses.items()}
    for item in sorted(shared):
        if where[item][0] == role:
            losses.setdefault(where[item][1], {})[item] = SHARED
    return losses


def lost_table(similarities: Sequence[Similarities]) -> pl.DataFrame:
    """form, role, set, item, reason: what was left out of some or all tests, each item of a set once."""
    rows = {
        (compared.form, role, name, item, reason): None
        for compared in similarities
        for role, losses in zip(ROLES, (compared.lost_targets, compared.lost_attributes), strict=True)
        for name, items in losses.items()
        for item, reason in items.items()
    }
    return pl.DataFrame(list(rows), schema=LOST, orient="row")


def with_test_name(finding: Finding, test: Test) -> Finding:
    """The finding with what the user's file calls the test."""
    if not test.name:
        return finding
    return finding.model_copy(update={"details": {**finding.details, "test": test.name}})


def chosen_images(data: AssociationData, image_ids: Mapping[str, None]) -> tuple[list[str], ImageSource]:
    """Some of the images, in the order of the data."""
    indices = [index for index, image in enumerate(data.image_ids) if image in image_ids]
    if len(indices) == len(data.image_ids):
        return list(data.image_ids), data.images
    return [data.image_ids[index] for index in indices], ChosenImages(data.images, indices)


def annotations_of(members: pl.DataFrame) -> pl.DataFrame:
    """One row a sample: what it stands for; a sample of several sets names them all."""
    grouped = members.group_by("sample", maintain_order=True).agg(
        pl.col("modality").first(),
        pl.col("role").unique(maintain_order=True).str.join(" | "),
        pl.col("set").unique(maintain_order=True).str.join(" | "),
    )
    return grouped.with_columns(truth=pl.lit(None, pl.String))
