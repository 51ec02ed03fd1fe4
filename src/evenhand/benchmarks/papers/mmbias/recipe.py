"""The recipe of the MMBias paper (Janghorbani and de Melo, EACL 2023)."""

from __future__ import annotations

from evenhand.benchmarks.papers.mmbias.published import TABLE3
from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step

RECIPE = Recipe(
    paper="mmbias",
    title="MMBias (Janghorbani and de Melo 2023): which words and pictures are tied to groups of people",
    time="about 20 minutes on two CPU cores with all 3,500 images and a small CLIP, much of it in debias",
    data=(RecipeData("mmbias", "mmbias"),),
    steps=(
        Step(
            "association", "mmbias/association", (("embeds_texts",),), "mmbias",
            suggestion="hf:openai/clip-vit-base-patch32",
        ),
        Step(
            "matching", "mmbias/matching", (("matches_pairs",),), "mmbias",
            suggestion="hf:dandelin/vilt-b32-finetuned-coco",
        ),
        Step("debiased", debiases="association"),
    ),
    artifacts={
        "mmbias/table1": (),
        "mmbias/table2": ("association", "matching"),
        "mmbias/table3": ("debiased",),
        "mmbias/figure2": (),
        "mmbias/figure3": (),
        "mmbias/figure5": ("association",),
        "mmbias/figure4": ("association", "debiased"),
        "mmbias/tradeoff": ("debiased",),
    },
    compared={
        "mmbias/table1": Compared(("group",), ("phrases", "images")),
        "mmbias/table2": Compared(("form", "pair")),
        "mmbias/table3": Compared(
            ("form", "pair"), ("before", "after", "less", "lost"), settings=("measure",),
            held_out={"before": "held_out_before", "after": "held_out_after"},
        ),
    },
    parameters={"mmbias/figure4": {"mitigation": "muslim--christian"}},
    tests=tuple(TABLE3),
)  # fmt: skip
