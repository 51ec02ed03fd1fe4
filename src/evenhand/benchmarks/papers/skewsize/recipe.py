"""The recipe of the SkewSize paper (Albuquerque et al. 2024)."""

from __future__ import annotations

from evenhand.benchmarks.labelling.elicitation import WAYS
from evenhand.benchmarks.recipe import Compared, Recipe, RecipeData, Step, numbered
from evenhand.benchmarks.sprites.factors import SHAPES

_FIGURE, _TABLE = "skewsize/figure", "skewsize/table"
_ANY = tuple(WAYS.values())
_WORDS = (WAYS["answer"],)
_PLANTED = tuple(f"sprites-{shape}" for shape in SHAPES)
_STRENGTHS = ("sprites-mild", "sprites-medium")
_STUDIES = ("occupations", "sports", "backgrounds", "domainnet")
_ACCURACIES = ("accuracy", "worst_group_accuracy", "accuracy_gap")
_ANSWERER = "hf:Salesforce/blip2-opt-2.7b"


def _sprites(name: str, removed: str, strength: str = "strong") -> Step:
    """A network is trained with a planted bias, and asked for the shapes of unmanipulated sprites."""
    planted = {"removed": removed, "strength": strength}
    return Step(name, "sprites", parameters=planted, trains=planted)


def _of_shapes(*measures: str) -> tuple[str, ...]:
    return tuple(f"{measure} {shape}" for measure in measures for shape in SHAPES)


RECIPE = Recipe(
    paper="skewsize",
    title="SkewSize (Albuquerque et al. 2024): do mistakes differ by group, class by class",
    time="six networks are trained on sprites: about 6 minutes each on two CPU cores with --preset quick, "
    "hours with --preset paper, which is for a GPU",
    data=(
        *(
            RecipeData(name, get=f"evenhand generate {name} --model diffusers:URI -o DIR")
            for name in ("occupations", "sports", "backgrounds")
        ),
        RecipeData("domainnet", "domainnet"),
    ),
    steps=(
        _sprites("sprites-none", "none"),
        *(_sprites(name, shape) for name, shape in zip(_PLANTED, SHAPES, strict=True)),
        *(_sprites(name, SHAPES[1], name.partition("-")[2]) for name in _STRENGTHS),  # class 1, as Table 2
        *(Step(name, f"skewsize/{name}", _ANY, name, suggestion=_ANSWERER) for name in _STUDIES),
    ),
    artifacts={
        **numbered(_TABLE, (1, 5), "sprites-none", *_PLANTED),
        **numbered(_TABLE, (2,), "sprites-none", *_STRENGTHS, _PLANTED[1]),
        **numbered(_TABLE, (3,), "occupations"),
        **numbered(_TABLE, (4,), *_STUDIES),
        **numbered(_TABLE, (6, 7), "occupations"),
        **numbered(_FIGURE, (2, 4, 6), *_STUDIES),
        **numbered(_FIGURE, (1, 3), "occupations"),
        **numbered(_FIGURE, (5,), "domainnet"),
    },
    compared={
        f"{_TABLE}1": Compared(("removed",), (*_ACCURACIES, *_of_shapes("DP", "EO", "V"))),
        f"{_TABLE}2": Compared(("bias strength",), (*_ACCURACIES[:2], *_of_shapes("V"))),
        f"{_TABLE}3": Compared(("benchmark", "class"), ("accuracy", "accuracy_gap", "effect_size")),
        f"{_TABLE}4": Compared(("benchmark", "answers", "mev"), ("skewsize",)),
        f"{_TABLE}5": Compared(("removed",), _of_shapes("V", "phi")),
        f"{_TABLE}6": Compared(("answers", "mev"), ("skewsize",)),
        f"{_TABLE}7": Compared(("heading",), ("skewsize",)),
        f"{_FIGURE}2": Compared(("benchmark", "measure"), ("value", "skewsize")),
        f"{_FIGURE}5": Compared(("part", "benchmark", "measure"), ("r", "p")),
    },
)
