"""What the embeddings of ``mmbias/association`` say: findings and tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Measured, Setting
from evenhand.benchmarks.mmbias.data.sets import Test
from evenhand.benchmarks.mmbias.modalities import ModalityPair
from evenhand.benchmarks.mmbias.questions import AssociationSets, Evidence, lost_table, with_test_name
from evenhand.benchmarks.tidy import counted_once, noted
from evenhand.core.findings import Finding
from evenhand.evidence.derivation.item_sets import MISSING
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association import nearest_words as attribution
from evenhand.metrics.association import weat as association
from evenhand.metrics.association.nearest_words import attribution_table
from evenhand.metrics.association.tables import association_tables

TEMPLATES = {
    **dict.fromkeys(("form", "x", "y", "a", "b", "target_template", "attribute_template"), pl.String),
    "d": pl.Float64,
}
_CONTRIBUTIONS = "contributions"
NO_SCALE = (
    "words are ranked by their mean cosine, as the model's logit scale is not known; give -p scale=100 (CLIP)"
)
Tests = Sequence[tuple[Test, Similarities]]


@dataclass(frozen=True, eq=False)
class AssociationMeasures:
    """Measures embeddings under one setting."""

    sets: AssociationSets
    setting: Setting
    scale: float | None  # of logits, for attribution; None: not known, then no softmax is read
    missing_counted: bool  # whether samples without an answer are counted elsewhere

    def measured(self, evidence: Evidence) -> Measured:
        """Findings and tables of every form."""
        findings: list[Finding] = []
        tables: dict[str, list[pl.DataFrame]] = {}
        for form in self.sets.forms:
            similarities = self.sets.similarities(form, evidence)
            tests = self._tests(form, similarities)
            form_tables = self._tables(similarities, tests)
            templates = self._templates(form, evidence)
            findings += self._pairs(tests, templates)
            singles = _singles(tests)
            findings += self._single_categories(similarities, singles)
            if form.name == "cross-modal":
                findings += self._attributions(similarities, singles)
                form_tables["attribution"] = self._attribution_table(similarities, singles)
            form_tables["lost"] = lost_table(
                [similarities, *(test_similarities for _, test_similarities in tests)]
            )
            if self.sets.variants.get(form.name):
                form_tables["templates"] = templates
            for name, table in form_tables.items():
                tables.setdefault(name, []).append(table)
        all_tables = {
            "members": self.sets.members(),
            "tests": self.sets.test_table(),
            "traps": self.sets.data.traps,
            **{name: pl.concat(parts) for name, parts in tables.items()},
        }
        if self.missing_counted:
            findings = [counted_once(finding, MISSING) for finding in findings]
        return Measured(findings, tables=all_tables)

    def _tests(self, form: ModalityPair, similarities: Similarities) -> Tests:
        """Each test with what it compares."""
        return [(test, self.sets.without_shared(form, similarities, test)) for test in self.sets.tests(form)]

    def _tables(self, similarities: Similarities, tests: Tests) -> dict[str, pl.DataFrame]:
        """Contributions (of the items that a test compares), single sets and levels."""
        how: dict[str, int] = {"ddof": int(self.setting.parameters["ddof"]), "seed": self.setting.seed}
        tables = association_tables(similarities, [_names(test) for test, _ in tests], **how)
        for test, test_similarities in tests:
            if test_similarities is not similarities:
                x, y, a, b = _names(test)
                is_same_test = (
                    (pl.col("x") == x) & (pl.col("y") == y) & (pl.col("a") == a) & (pl.col("b") == b)
                )
                again = association_tables(test_similarities, [(x, y, a, b)], **how)[_CONTRIBUTIONS]
                tables[_CONTRIBUTIONS] = pl.concat([tables[_CONTRIBUTIONS].filter(~is_same_test), again])
        return tables

    def _pairs(self, tests: Tests, templates: pl.DataFrame) -> Iterator[Finding]:
        """Effect size and mean difference of each test."""
        params, seed = self.setting.parameters, self.setting.seed
        mode, alternative = params["mode"], params["alternative"]
        for test, test_similarities in tests:
            sets: dict[str, Any] = {"targets": (test.x, test.y), "attributes": (test.a, test.b)}
            effect = association.association_effect_size(
                test_similarities,
                **sets,
                ddof=int(params["ddof"]),
                alternative=alternative,
                mode=mode,
                seed=seed,
            )
            effect = self._with_prompts(effect, test)
            yield with_test_name(_with_range(effect, templates, test), test)
            difference = association.association_difference(
                test_similarities, **sets, alternative=alternative, mode=mode, seed=seed
            )
            yield with_test_name(difference, test)

    def _with_prompts(self, finding: Finding, test: Test) -> Finding:
        """The finding; where made elsewhere no text of a set is there, with the text looked for."""
        if (
            self.missing_counted
            or finding.reason != "empty_set"
            or MISSING not in {dropped.reason for dropped in finding.dropped}
        ):
            return finding
        members = self.sets.members().filter(modality="text")
        texts = {row["set"]: row["sample"] for row in members.iter_rows(named=True)}
        sought = [texts[name] for name in (test.x, test.y, test.a, test.b) if name in texts]
        note = (
            f"looked for texts such as {', '.join(map(repr, sought))}; where they were embedded in other "
            "sentences give -p target_template=... ({} for the bare phrase)"
        )
        return noted(finding, *([note] if sought else []))

    def _single_categories(
        self, similarities: Similarities, singles: Sequence[tuple[str, tuple[str, str]]]
    ) -> Iterator[Finding]:
        """Each set of targets alone against the two sets of attributes."""
        for target, attributes in singles:
            yield association.single_category_association(
                similarities,
                target=target,
                attributes=attributes,
                mode=self.setting.parameters["mode"],
                seed=self.setting.seed,
            )

    def _attributions(
        self, similarities: Similarities, singles: Sequence[tuple[str, tuple[str, str]]]
    ) -> Iterator[Finding]:
        """How many of the words at the top of a group of images are pleasant."""
        for target, attributes in singles:
            finding = attribution.pleasant_at_k(
                similarities,
                target=target,
                attributes=attributes,
                k=int(self.setting.parameters["k"]),
                reading="cosine" if self.scale is None else "softmax",
                scale=self.scale or 1.0,
                mode=self.setting.parameters["mode"],
                seed=self.setting.seed,
            )
            yield noted(finding, *([NO_SCALE] if self.scale is None else []))

    def _attribution_table(
        self, similarities: Similarities, singles: Sequence[tuple[str, tuple[str, str]]]
    ) -> pl.DataFrame:
        """Every word for every group, read in all ways that are possible."""
        readings = [
            reading for reading in attribution.READINGS if self.scale is not None or reading != "softmax"
        ]
        parts = [
            attribution_table(similarities, [target], attributes, readings=readings, scale=self.scale or 1.0)
            for target, attributes in singles
        ]
        return pl.concat(parts)

    def _templates(self, form: ModalityPair, evidence: Evidence) -> pl.DataFrame:
        """The effect size of every test under every template; empty where no others were asked for."""
        rows = []
        further = self.sets.variants.get(form.name, ())
        for templates in dict.fromkeys((self.sets.templates, *further)) if further else ():
            similarities = self.sets.similarities(form, evidence, templates)
            texts = (templates.target if form.targets == "text" else None, templates.attribute)
            for test, test_similarities in self._tests(form, similarities):
                finding = association.association_effect_size(
                    test_similarities,
                    targets=(test.x, test.y),
                    attributes=(test.a, test.b),
                    ddof=int(self.setting.parameters["ddof"]),
                    inference="none",
                )
                rows.append((form.name, *_names(test), *texts, finding.value))
        return pl.DataFrame(rows, schema=TEMPLATES, orient="row")


def _names(test: Test) -> tuple[str, str, str, str]:
    return test.x, test.y, test.a, test.b


def _singles(tests: Tests) -> list[tuple[str, tuple[str, str]]]:
    """Each set of targets with each pair of attributes that it is tested with."""
    pairs = [(name, (test.a, test.b)) for test, _ in tests for name in (test.x, test.y)]
    return list(dict.fromkeys(pairs))


def _with_range(finding: Finding, templates: pl.DataFrame, test: Test) -> Finding:
    """The finding with the least and the greatest d over all templates."""
    effects = templates.filter(x=test.x, y=test.y, a=test.a, b=test.b)["d"].drop_nulls()
    if effects.is_empty():
        return finding
    extremes = {
        "template_low": effects.min(),
        "template_high": effects.max(),
        "templates": float(len(effects)),
    }
    return finding.model_copy(update={"details": {**finding.details, **extremes}})
