"""The benchmark ``mmbias/matching``: which words does a fusion model find in the images of a group?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.mmbias.association import SHARED_PARAMETERS, check_k, read_data
from evenhand.benchmarks.mmbias.data.prompts import check_template
from evenhand.benchmarks.mmbias.data.repeated_images import RepeatedImages
from evenhand.benchmarks.mmbias.modalities import FORMS, limited
from evenhand.benchmarks.mmbias.questions import (
    PERCEIVED,
    AssociationSets,
    Templates,
    annotations_of,
    chosen_images,
    lost_table,
    with_test_name,
)
from evenhand.benchmarks.tidy import counted_once
from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.core.requests import Question
from evenhand.evidence.derivation.item_sets import MISSING
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association import matching
from evenhand.metrics.association.nearest_words import attribution_table

READINGS = ("per_image_joint", "per_image_joint_share", "per_image_per_set", "per_group")
MATCHES = "matches"
_FORM = FORMS["cross-modal"]
_STANDARDISED = {"no": (False,), "yes": (True,), "both": (False, True)}


class MMBiasMatching(Benchmark[AssociationSets]):
    """Every image with every word: the probability that they belong together."""

    name = "mmbias/matching"
    asks = (
        "does the model match images of one group with one set of words (in MMBias the unpleasant) more than "
        "images of another group?"
    )
    examined = "the match probabilities"
    nouns = Nouns(sample=("item", "items"))
    limits = (PERCEIVED,)
    people = ("set",)
    parameters: Mapping[str, Parameter] = {
        **SHARED_PARAMETERS,
        "reading": Parameter(
            "per_image_joint", help=f"all, or of {', '.join(READINGS)}, separated by commas"
        ),
        "k": Parameter(15, help="most probable words of an image"),
        "standardised": Parameter(
            "both", tuple(_STANDARDISED), "difference of means, divided by the standard deviation, or both"
        ),
        "mode": Parameter("default", ("default", "paper"), "paper: as the paper's Table 2"),
    }
    artifacts: Sequence[str] = ("mmbias/table2",)
    primaries: Sequence[str] = ("match_association",)

    def plan(self, setting: Setting) -> Plan[AssociationSets]:
        """Each image with each word; the rows of one image stand together, and it is decoded about once.

        ``setting.limit`` takes the first so many images of each set.
        """
        sets = self._sets(setting)
        used = sets.samples(_FORM, "target").values()
        ids, images = chosen_images(sets.data, dict.fromkeys(item for items in used for item in items))
        words = self._words(sets)
        question = Question(
            MATCHES,
            "matches_pairs",
            [image for image in ids for _ in words],
            RepeatedImages(images, len(words)),
            words * len(ids),
        )
        untested = sets.test_table().filter(~pl.col("tested"))
        notes = {**sets.data.notes, **({"pairs without items": len(untested)} if len(untested) else {})}
        annotations = annotations_of(sets.members().filter(role="target"))
        return Plan(annotations, [question], dropped=sets.data.dropped, notes=notes, state=sets)

    def measure(self, answered: Answered[AssociationSets]) -> Measured:
        """The match association of each pair in every reading, raw and standardised."""
        plan, setting = answered.plan, answered.setting
        sets = plan.state
        similarities = sets.matches(answered.evidence[MATCHES])
        findings = list(self._findings(sets, similarities, setting))
        if not any(similarities.lost_attributes.values()):
            findings = [counted_once(finding, MISSING) for finding in findings]
        tables = {
            "members": sets.members(),
            "tests": sets.test_table().with_columns(form=pl.lit(similarities.form)),
            "traps": sets.data.traps,
            "lost": lost_table(
                [
                    similarities,
                    *(sets.without_shared(_FORM, similarities, test) for test in sets.tests(_FORM)),
                ]
            ),
            "attribution": _words_of_groups(sets, similarities),
        }
        return Measured(findings, tables=tables)

    def _words(self, sets: AssociationSets) -> list[str]:
        used = sets.samples(_FORM, "attribute").values()
        return list(dict.fromkeys(word for words in used for word in words))

    def _sets(self, setting: Setting) -> AssociationSets:
        params = setting.parameters
        template = check_template("attribute_template", str(params["attribute_template"]))
        check_k(params["k"])
        parse_readings(str(params["reading"]))
        data = limited(read_data(setting), setting.limit)
        reasons = [_FORM.lacking(data, test) for test in data.pairs]
        if all(reasons):
            why = f"the first has {reasons[0]}" if reasons else "there are none"
            raise InputError(
                f"mmbias/matching needs pairs with images and words; {why}; give --data FOLDER with images"
            )
        return AssociationSets(data, [_FORM], Templates(attribute=template), {})

    def _findings(
        self, sets: AssociationSets, similarities: Similarities, setting: Setting
    ) -> Iterator[Finding]:
        params = setting.parameters
        for reading in parse_readings(str(params["reading"])):
            for standardised in _STANDARDISED[str(params["standardised"])]:
                for test in sets.tests(_FORM):
                    finding = matching.match_association(
                        sets.without_shared(_FORM, similarities, test),
                        targets=(test.x, test.y),
                        attributes=(test.a, test.b),
                        k=int(params["k"]),
                        reading=reading,
                        standardised=standardised,
                        mode=params["mode"],
                        seed=setting.seed,
                    )
                    yield with_test_name(finding, test)


def parse_readings(text: str) -> tuple[str, ...]:
    """Readings by name, separated by commas, or ``all``."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ParameterError(f"-p reading={text!r} names none; choose from all, {', '.join(READINGS)}")
    for name in names:
        check_choice("reading", name, ("all", *READINGS))
    return READINGS if "all" in names else tuple(names)


def _words_of_groups(sets: AssociationSets, similarities: Similarities) -> pl.DataFrame:
    """Every word for every group in the order of its mean probability."""
    contrasts = dict.fromkeys(
        (name, (test.a, test.b)) for test in sets.tests(_FORM) for name in (test.x, test.y)
    )
    parts = [
        attribution_table(similarities, [name], attributes, readings=("cosine",))  # the plain mean
        for name, attributes in contrasts
    ]
    return pl.concat(parts).with_columns(reading=pl.lit("probability"))


MATCHING = MMBiasMatching()
