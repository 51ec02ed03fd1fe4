"""Plural to singular, of the last word of an answer only.

The library inflect was tried: of 71 words such as bus, gas, tennis and cactus it shortens 20 that are no
plural (bu, ga, tenni, cactu). These few rules leave a word alone where they are not sure.
"""

from __future__ import annotations

import re
from collections.abc import Container

_IRREGULAR = {
    "women": "woman", "men": "man", "people": "person", "children": "child", "mice": "mouse",
    "geese": "goose", "feet": "foot", "teeth": "tooth", "knives": "knife", "wives": "wife",
    "wolves": "wolf", "shelves": "shelf", "loaves": "loaf", "calves": "calf", "leaves": "leaf",
    "halves": "half", "thieves": "thief", "scarves": "scarf", "elves": "elf", "lives": "life",
    "oxen": "ox", "buses": "bus", "cacti": "cactus", "fungi": "fungus", "octopuses": "octopus",
    "gases": "gas", "lenses": "lens", "potatoes": "potato", "tomatoes": "tomato", "heroes": "hero",
    "mosquitoes": "mosquito", "mangoes": "mango", "horses": "horse", "houses": "house", "noses": "nose",
    "roses": "rose", "vases": "vase", "nurses": "nurse", "cases": "case", "bases": "base", "shoes": "shoe",
    "judges": "judge", "axes": "axe", "toes": "toe", "movies": "movie", "cookies": "cookie", "ties": "tie",
    "pies": "pie", "zombies": "zombie", "selfies": "selfie", "canoes": "canoe", "hoes": "hoe",
}  # fmt: skip
_STAYS = frozenset({
    "abdomen", "acumen", "alias", "always", "arms", "arts", "atlas", "barracks", "bias", "biceps",
    "billiards", "binoculars", "bowls", "bus", "canvas", "cards", "checkers", "chess", "christmas",
    "clothes", "corps", "crossroads", "customs", "darts", "dominoes", "draughts", "earnings",
    "earphones", "eyeglasses", "gallows", "games", "gas", "glasses", "goggles", "goods", "has",
    "headphones", "headquarters", "his", "innings", "its", "james", "jeans", "lens", "logistics",
    "mars", "means", "news", "olympics", "omen", "pancreas", "pants", "paris", "perhaps", "pliers",
    "ramen", "sales", "savings", "scissors", "semen", "series", "shorts", "skittles", "species",
    "specimen", "sports", "stairs", "stamen", "sunglasses", "tennis", "texas", "thanks", "this",
    "tights", "triceps", "trousers", "tweezers", "works", "yes",
})  # fmt: skip
_ENDINGS = (
    ("men", "man"), ("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("zes", "z"),
    ("s", ""),
)  # fmt: skip
_NO_PLURAL = re.compile(r"(?:ss|us|is|ics|'s|\ds|[^a-z'-]s)$")


def singular(text: str, spellings: Container[str] = frozenset()) -> str:
    """A text whose last word is in the singular, unless the word may not be a plural.

    Where one of the possible singulars is among ``spellings``, that one is taken; a text among them stays as
    it is. The same once more gives the same.
    """
    if text in spellings:
        return text
    start, _, last = text.rpartition(" ")
    lead = f"{start} " if start else ""
    for candidate in _candidates(last):
        if lead + candidate in spellings:
            return lead + candidate
    return lead + _by_rule(last)


def _candidates(word: str) -> list[str]:
    """What a word may be the plural of."""
    if word in _IRREGULAR:
        return [_IRREGULAR[word]]
    singulars = [word[:-3] + "man"] if word.endswith("men") and len(word) > 4 else []
    if word.endswith("ies") and len(word) > 4:
        singulars.append(word[:-3] + "y")
    if word.endswith("ves") and len(word) > 4:
        singulars += [word[:-3] + "f", word[:-3] + "fe"]
    if word.endswith("es") and len(word) > 3:
        singulars.append(word[:-2])
    if word.endswith("s") and len(word) > 2 and not word.endswith("ss"):
        singulars.append(word[:-1])
    return singulars


def _by_rule(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _STAYS or len(word) < 4 or not word.isascii() or _NO_PLURAL.search(word):
        return word
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + replacement
    return word
