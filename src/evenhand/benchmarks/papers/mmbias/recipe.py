"""The recipe of the MMBias paper (Janghorbani and de Melo, EACL 2023)."""

from __future__ import annotations

from evenhand.benchmarks.papers.mmbias.published import TABLE3
from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step, numbered

_P = "mmbias/"
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
        **numbered(f"{_P}table", (1,)),
        f"{_P}table2": ("association", "matching"),
        f"{_P}table3": ("debiased",),
        **numbered(f"{_P}figure", (2, 3)),
        f"{_P}figure5": ("association",),
        f"{_P}figure4": ("association", "debiased"),
        f"{_P}tradeoff": ("debiased",),
    },
    compared={
        f"{_P}table1": Compared(("group",), ("phrases", "images")),
        f"{_P}table2": Compared(("form", "pair")),
        f"{_P}table3": Compared(
            ("form", "pair"), ("before", "after", "less", "lost"), settings=("measure",),
            held_out={"before": "held_out_before", "after": "held_out_after"},
        ),
    },
    parameters={f"{_P}figure4": {"mitigation": "muslim--christian"}},
    tests=tuple(TABLE3),
)  # fmt: skip
