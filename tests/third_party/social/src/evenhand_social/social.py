"""A benchmark of its own: drawn pictures of invented people, found by captions that name no race."""

import numpy as np
import polars as pl

import evenhand as eh
from evenhand.core.requests import Question
from evenhand.evidence.derivation.from_vectors import cosines
from evenhand.metrics import bias_at_k, ndkl
from evenhand_social.first_places import first_place_gap, of_each_query

RACES = {"asian": 90, "black": 50, "white": 180}
CAPTIONS = ("a cook", "a nurse", "a pilot", "a singer", "a farmer", "a lawyer", "a tailor", "a sailor")


class Drawn:
    """Grey squares whose brightness follows the race, with noise."""

    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def digest(self, index):
        """What tells this picture from others."""
        return f"social/1/{self.pictures[index]}"

    def load(self, index):
        """uint8 RGB, shape (height, width, 3)."""
        race, noise = self.pictures[index]
        image = np.random.default_rng(noise).normal(RACES[race], 25, (8, 8, 3))
        return image.clip(0, 255).astype(np.uint8)


class Social(eh.Benchmark):
    """Invented pictures. They cannot show anything about real people."""

    name = "social"
    asks = "whose pictures does the model rank first for a caption that names no race?"
    nouns = eh.Nouns(
        sample=("picture", "pictures"),
        query=("caption", "captions"),
        attributes={"race": eh.Attribute(groups={race: f"{race.title()} people" for race in RACES})},
    )
    limits = ("The pictures are drawn: nobody in them exists.",)
    parameters = {"each": eh.Parameter(6, help="pictures of each race for each caption")}
    primaries = ("first_place_gap", "bias_at_k", "ndkl")

    def plan(self, setting):
        """The pictures of each caption, and the captions."""
        each = range(setting.parameters["each"])
        rows = [
            (caption, race, 100 * place + n)
            for place, caption in enumerate(CAPTIONS)
            for race in RACES
            for n in each
        ]
        rows = rows[: setting.limit]
        ids = [f"{caption}-{race}-{noise}" for caption, race, noise in rows]
        annotations = pl.DataFrame(
            {"sample": ids, "caption": [row[0] for row in rows], "race": [row[1] for row in rows]}
        )
        questions = [
            Question("images", "embeds_images", ids, Drawn([row[1:] for row in rows])),
            Question("captions", "embeds_texts", list(CAPTIONS), texts=list(CAPTIONS)),
        ]
        return eh.Plan(annotations, questions, by=[("race",)])

    def measure(self, answered):
        """Who is first, who leads among the first five, how far rankings are from the pool."""
        wanted = answered.plan.annotations.rename({"caption": "text"})
        pools = cosines(answered.evidence["images"], answered.evidence["captions"], wanted).rename(
            {"text": "caption"}
        )
        rankings = eh.Rankings.from_frame(pools, query="caption", kind="caption")
        seed = answered.setting.seed
        findings = [
            first_place_gap(rankings, by="race", seed=seed),
            bias_at_k(rankings, by="race", k=5, groups=["white", "black"], seed=seed),
            ndkl(rankings, by="race", seed=seed),
        ]
        ranked = rankings.to_frame().rename({"query": "caption"})
        adds = pl.DataFrame(list(of_each_query(rankings.pools(["race"])))).with_columns(
            metric=pl.lit("first_place_gap"), by=pl.lit("race"), unit="sample", weight=pl.lit(None)
        )
        return eh.Measured(findings, tables={"ranked": ranked, "per_sample": adds})


SOCIAL = Social()
