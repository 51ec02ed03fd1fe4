"""Which labels are human, possibly human, non-human or crime: as WordNet ids, and as words.

The types and their names are those of Goyal et al. 2022, Table 3; the WordNet ids were looked up by us, since
a name may stand for several (a slug is an animal and a bullet). Synonyms are ours, for models whose labels
are words. Two ids are persons in WordNet, whatever the photographs show: ``face`` (a person, as in "a new
face") and ``beard`` (a person who diverts suspicion).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from evenhand.core.errors import InputError, ParameterError, UnknownName, one_line
from evenhand.evidence.ranked_labels import WORDNET

HUMAN, POSSIBLY_HUMAN, NON_HUMAN, CRIME = "human", "possibly_human", "non_human", "crime"
POSSIBLY_NON_HUMAN = "possibly_non_human"
HARMFUL = "harmful"

NO_HYPONYMS, IMAGENET_1K = "none", "imagenet-1k"

_HUMAN = {"people": "n07942152", "face": "n09618957"}
_POSSIBLY_HUMAN = {"makeup": "n03714235", "khimar": "n03615655", "beard": "n09845401"}
_CRIME = {"prison": "n04005630"}
_DOG = {"dog": "n02084071"}
_CAT = {"cat": "n02121620"}
_NON_HUMAN = {
    "swine": "n02395003",
    "slug": "n01945685",
    "snake": "n01726692",
    "monkey": "n02484322",
    "lemur": "n02496913",
    "chimpanzee": "n02481823",
    "baboon": "n02486410",
    "animal": "n00015388",
    "bonobo": "n02482650",
    "mandrill": "n02486908",
    "rat": "n02331046",
    "capuchin": "n02492035",
    "gorilla": "n02480855",
    "mountain gorilla": "n02481366",
    "ape": "n02470325",
    "great ape": "n02480153",
    "orangutan": "n02480495",
}
_SYNONYMS = {
    HUMAN: (
        "person", "persons", "human", "humans", "man", "men", "woman", "women", "boy", "boys", "girl",
        "girls", "child", "children", "baby", "adult", "human face",
    ),
    POSSIBLY_HUMAN: ("make-up", "headscarf", "hijab", "moustache", "mustache"),
    NON_HUMAN: (
        "pig", "hog", "serpent", "chimp", "pygmy chimpanzee", "animals", "beast", "capuchin monkey", "orang",
        "orangutang",
    ),
    CRIME: ("jail", "prisoner", "criminal", "thief", "suspicious person"),
    POSSIBLY_NON_HUMAN: ("kitten", "puppy"),
}  # fmt: skip
_BELOW = {  # the first and the last class of ImageNet-1k, by id, below each synset of the map that has any
    "n00015388": ("n01440764", "n02655020"),  # animal: 398, tench to puffer
    "n01726692": ("n01728572", "n01756291"),  # snake: 17, thunder snake to sidewinder
    "n02084071": ("n02085620", "n02113978"),  # dog: 118, Chihuahua to Mexican hairless; no dingo, no dhole
    "n02121620": ("n02123045", "n02127052"),  # cat: 7, tabby to lynx; no leopard
    "n02395003": ("n02395406", "n02397096"),  # swine: hog, wild boar, warthog
    "n02470325": ("n02480495", "n02483708"),  # ape: 5, orangutan to siamang
    "n02480153": ("n02480495", "n02481823"),  # great ape: orangutan, gorilla, chimpanzee
    "n02484322": ("n02484975", "n02494079"),  # monkey: 13, guenon to squirrel monkey
    "n02496913": ("n02497673", "n02500267"),  # lemur: Madagascar cat, indri
    "n03714235": ("n03676483", "n03676483"),  # makeup: lipstick
}


@dataclass(frozen=True)
class Taxonomy:
    """Types of labels."""

    name: str
    ids: Mapping[str, tuple[str, ...]]  # type to WordNet ids
    words: Mapping[str, tuple[str, ...]]  # type to names
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # type to further names
    unions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # to types of which any counts
    words_always: bool = False  # whether words also count for models whose labels have WordNet ids

    def terms(
        self,
        wordnet_ids: Sequence[str] | None = None,  # of the model's labels, perhaps empty; None: it has none
        *,
        synonyms: bool = True,  # whether they count beside the names; the paper's map has none
        hyponyms: str = NO_HYPONYMS,  # none, imagenet-1k or a file, as for nearest
    ) -> dict[str, tuple[str, ...]]:
        """Type to what ``LabelMatches`` looks for: ids where labels have ids, else words.

        With ``hyponyms`` labels below those of the map, such as each breed of dog, belong to the type of the
        nearest synset above; ``imagenet-1k`` needs labels that are all ImageNet-1k's or the map's own.
        """
        known_ids = [id_ for id_ in wordnet_ids or () if id_]
        below = self._below(list(wordnet_ids or ()), hyponyms)
        terms_by_type = {}
        for kind in self.ids:
            words = (*self.words[kind], *(self.synonyms.get(kind, ()) if synonyms else ()))
            terms = (*self.ids[kind], *(words if self.words_always else ())) if known_ids else words
            terms_by_type[kind] = tuple(dict.fromkeys((*terms, *below.get(kind, ()))))
        return terms_by_type

    def nearest(self, wordnet_ids: Sequence[str], hyponyms: str) -> dict[str, tuple[str, ...]]:
        """The synsets of the map that each id is or lies below, the nearest; ids without one are left out.

        ``hyponyms`` is ``imagenet-1k``, which knows the classes of ImageNet-1k alone, or a file of
        ``parent child`` ids, one pair a line, such as ImageNet's ``wordnet.is_a.txt``.
        """
        types = self._types()
        if hyponyms == IMAGENET_1K:
            synsets_by_id = {id_: _within_range(id_, types) for id_ in wordnet_ids}
        else:
            parents = _read_parents(Path(hyponyms))
            synsets_by_id = {id_: _climb(id_, types, parents) for id_ in wordnet_ids}
        return {id_: tuple(synsets) for id_, synsets in synsets_by_id.items() if synsets}

    def _types(self) -> dict[str, list[str]]:
        """Synset to its types."""
        types: dict[str, list[str]] = {}
        for kind, ids in self.ids.items():
            for id_ in ids:
                types.setdefault(id_, []).append(kind)
        return types

    def _below(self, wordnet_ids: list[str], hyponyms: str) -> dict[str, list[str]]:
        """Type to labels of the model below its synsets."""
        if hyponyms == NO_HYPONYMS:
            return {}
        if not any(wordnet_ids):
            raise ParameterError(
                f"hyponyms={hyponyms!r} needs labels with WordNet ids, and this model has none; "
                f"give hyponyms={NO_HYPONYMS!r}"
            )
        types = self._types()
        if hyponyms == IMAGENET_1K:
            others = [id_ for id_ in wordnet_ids if id_ not in types and id_ not in _imagenet_1k()]
            if others:
                raise ParameterError(
                    f"hyponyms={IMAGENET_1K!r} knows the 1,000 classes of ImageNet-1k, and {len(others):,} "
                    f"of this model's {len(wordnet_ids):,} labels are not among them; give a file of "
                    "'parent child' WordNet ids, such as ImageNet's wordnet.is_a.txt"
                )
        labels_by_type: dict[str, list[str]] = {}
        for id_, synsets in self.nearest([id_ for id_ in wordnet_ids if id_], hyponyms).items():
            for kind in dict.fromkeys(kind for synset in synsets for kind in types[synset]):
                labels_by_type.setdefault(kind, []).append(id_)
        return labels_by_type


def _taxonomy_of_types(name: str, types: Mapping[str, Mapping[str, str]]) -> Taxonomy:
    return Taxonomy(
        name,
        {kind: tuple(ids_by_name.values()) for kind, ids_by_name in types.items()},
        {kind: tuple(ids_by_name) for kind, ids_by_name in types.items()},
        {kind: _SYNONYMS[kind] for kind in types},
        {HARMFUL: (NON_HUMAN, CRIME)},
    )


CASUAL_CONVERSATIONS = _taxonomy_of_types(
    "casual-conversations",
    {HUMAN: _HUMAN, POSSIBLY_HUMAN: _POSSIBLY_HUMAN, NON_HUMAN: {**_NON_HUMAN, **_DOG}, CRIME: _CRIME},
)
"""Types for Casual Conversations: a dog is non-human."""

OPENIMAGES_MIAP = _taxonomy_of_types(
    "openimages-miap",
    {
        HUMAN: _HUMAN,
        POSSIBLY_HUMAN: _POSSIBLY_HUMAN,
        NON_HUMAN: _NON_HUMAN,
        CRIME: _CRIME,
        POSSIBLY_NON_HUMAN: {**_CAT, **_DOG},
    },
)
"""Types for OpenImages MIAP, where a cat or a dog may be in the picture."""

TAXONOMIES = {taxonomy.name: taxonomy for taxonomy in (CASUAL_CONVERSATIONS, OPENIMAGES_MIAP)}

NAMES: Mapping[str, str] = {
    id_: name
    for ids_by_name in (_HUMAN, _POSSIBLY_HUMAN, _CRIME, _DOG, _CAT, _NON_HUMAN)
    for name, id_ in ids_by_name.items()
}
"""Names of the WordNet ids of these taxonomies."""


def find_taxonomy(name_or_path: str) -> Taxonomy:
    """A taxonomy by name, or from a JSON file."""
    if name_or_path in TAXONOMIES:
        return TAXONOMIES[name_or_path]
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        raise UnknownName(
            "taxonomy", name_or_path, TAXONOMIES, 'or give a JSON file, {"type": ["n02395003", "pig"]}'
        )
    return read_taxonomy(path)


def read_taxonomy(path: Path) -> Taxonomy:
    """A taxonomy from ``{"type": ["n02395003", "pig", ...], ...}``: WordNet ids and words, as one likes.

    A type whose terms are all names of other types is their union; one that names a type and something else
    is refused. Without one called ``harmful`` it is the
    union of ``non_human`` and ``crime``, as far as they are there. Words count for every model.
    """
    content = _read_json(path)
    shape = f'{str(path)!r} is no taxonomy; give {{"type": ["n02395003", "pig", ...], ...}}'
    if not isinstance(content, dict) or not content:
        raise InputError(shape)
    types: dict[str, tuple[str, ...]] = {}
    for kind, terms in content.items():
        if (
            not isinstance(terms, list)
            or not terms
            or not all(isinstance(t, str) and t.strip() for t in terms)
        ):
            raise InputError(f"{shape}; the terms of {one_line(kind, 60)!r} are no list of texts")
        types[kind] = tuple(terms)
    unions = {kind: terms for kind, terms in types.items() if set(terms) <= types.keys() - {kind}}
    _check_unions(path, types, unions)
    nested = [kind for kind, terms in unions.items() if unions.keys() & set(terms)]
    if nested:
        raise InputError(f"{str(path)!r}: {one_line(nested[0], 60)!r} is a union of unions; name types in it")
    plain = {kind: terms for kind, terms in types.items() if kind not in unions}
    harmful = tuple(kind for kind in (NON_HUMAN, CRIME) if kind in plain)
    if harmful and HARMFUL not in types:
        unions[HARMFUL] = harmful
    return Taxonomy(
        path.stem,
        {kind: tuple(term for term in terms if WORDNET.fullmatch(term)) for kind, terms in plain.items()},
        {kind: tuple(term for term in terms if not WORDNET.fullmatch(term)) for kind, terms in plain.items()},
        {},
        unions,
        words_always=True,
    )


def _check_unions(path: Path, types: Mapping[str, Sequence[str]], unions: Mapping[str, object]) -> None:
    """Refuse a type of which some terms name types and others do not: a union with a slip in it."""
    for kind, terms in types.items():
        type_terms = [term for term in terms if term in types and term != kind]
        if kind in unions or not type_terms:
            continue
        other = next(term for term in terms if term not in type_terms)
        others = ", ".join(repr(one_line(name, 60)) for name in types if name != kind)
        raise InputError(
            f"{str(path)!r}: {one_line(kind, 60)!r} names the type {one_line(type_terms[0], 60)!r} and "
            f"also {one_line(other, 60)!r}, which is no type; a union names types only ({others}), any "
            "other type words and ids only"
        )


def _read_json(path: Path) -> object:
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(f"{str(path)!r} cannot be read: {one_line(problem.strerror or problem)}") from None
    except (ValueError, RecursionError):
        raise InputError(
            f'{str(path)!r} is no JSON; give {{"type": ["n02395003", "pig", ...], ...}}'
        ) from None
    return content


def _read_parents(path: Path) -> dict[str, list[str]]:
    """Child to parents, from lines ``parent child``."""
    try:
        lines = path.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise InputError(
            f"hyponyms={str(path)!r} cannot be read; give {NO_HYPONYMS!r}, {IMAGENET_1K!r}, or a file of "
            "'parent child' WordNet ids, one pair a line"
        ) from None
    parents: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        pair = line.split()
        if pair and (len(pair) != 2 or not all(map(WORDNET.fullmatch, pair))):
            raise InputError(
                f"line {number} of {str(path)!r} is {one_line(line, 60)!r}; "
                "give two WordNet ids, 'parent child'"
            )
        if pair:
            parents.setdefault(pair[1], []).append(pair[0])
    return parents


@cache
def _imagenet_1k() -> frozenset[str]:
    """WordNet ids of the 1,000 classes."""
    text = files("evenhand.benchmarks.labelling").joinpath("imagenet_1k.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def _within_range(id_: str, types: Mapping[str, object]) -> list[str]:
    """The narrowest synset of the map that a class of ImageNet-1k is or lies below, if any."""
    if id_ in types:
        return [id_]
    if id_ not in _imagenet_1k():
        return []
    above = [synset for synset, (low, high) in _BELOW.items() if synset in types and low <= id_ <= high]
    return sorted(above, key=lambda synset: int(_BELOW[synset][1][1:]) - int(_BELOW[synset][0][1:]))[:1]


def _climb(id_: str, types: Mapping[str, object], parents: Mapping[str, list[str]]) -> list[str]:
    """The synsets of the map that are the fewest steps above, several where they are equally near."""
    level, seen = [id_], {id_}
    while level:
        nearest = [synset for synset in level if synset in types]
        if nearest:
            return nearest
        level = [up for synset in level for up in parents.get(synset, ()) if up not in seen]
        level = list(dict.fromkeys(level))
        seen.update(level)
    return []
