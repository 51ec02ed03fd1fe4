"""The three forms of an association test: which modality the targets and the attributes have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evenhand.benchmarks.mmbias.data.sets import AssociationData, Test
from evenhand.core.errors import MissingCapability, ParameterError, UserError, check_choice

Items = Mapping[str, tuple[str, ...]]
_NEEDED = {"image": "embeds_images", "text": "embeds_texts"}
_CALLED = {"image": "images", "text": "phrases"}


@dataclass(frozen=True)
class ModalityPair:
    """One form of the test."""

    name: str  # ``cross-modal``, ``textual`` or ``visual``
    targets: str  # ``image`` or ``text``
    attributes: str  # ``image`` or ``text``

    def modality(self, role: str) -> str:
        """The modality of a role, ``target`` or ``attribute``."""
        return self.targets if role == "target" else self.attributes

    def items(self, data: AssociationData, role: str) -> Items:
        """Set to the items it has in this form."""
        return {
            ("target", "image"): data.target_images,
            ("target", "text"): data.target_phrases,
            ("attribute", "image"): data.attribute_images,
            ("attribute", "text"): data.attribute_phrases,
        }[role, self.modality(role)]

    def lacking(self, data: AssociationData, test: Test) -> str | None:
        """Why a test cannot be made in this form: the sets it has nothing of; None: it can."""
        reasons = []
        for role, names in (("target", (test.x, test.y)), ("attribute", (test.a, test.b))):
            items = self.items(data, role)
            missing = [repr(name) for name in names if not items.get(name)]
            if missing:
                reasons.append(f"no {_CALLED[self.modality(role)]} of {' and '.join(missing)}")
        return "; ".join(reasons) or None


FORMS: Mapping[str, ModalityPair] = {
    form.name: form
    for form in (
        ModalityPair("cross-modal", "image", "text"),
        ModalityPair("textual", "text", "text"),
        ModalityPair("visual", "image", "image"),
    )
}

_ALL = tuple(_NEEDED.values())


def choose_forms(choice: str, capabilities: Sequence[str], data: AssociationData) -> list[ModalityPair]:
    """The forms asked for, or with ``auto`` all that the model and the data allow.

    Where ``auto`` finds none, it raises ``MissingCapability`` if other models could be tested on these data.
    """
    names = [name.strip() for name in choice.split(",") if name.strip()]
    if not names:
        raise ParameterError(f"-p form={choice!r} names no form; choose from auto, {', '.join(FORMS)}")
    for name in names:
        check_choice("form", name, ("auto", *FORMS))
    if "auto" in names:
        reasons = {name: _impossible(form, capabilities, data) for name, form in FORMS.items()}
        possible = [FORMS[name] for name, reason in reasons.items() if reason is None]
        if not possible:
            explanation = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
            able = [form for form in FORMS.values() if _impossible(form, _ALL, data) is None]
            raise (MissingCapability if able else UserError)(
                f"no form of association can be tested: {explanation}; give another --model or --data"
            )
        return possible
    forms = [form for name, form in FORMS.items() if name in names]
    for form in forms:
        reason = _impossible(form, capabilities, data)
        if reason is not None:
            _require_images(form, capabilities, data)
            raise UserError(
                f"-p form={form.name} cannot be tested: {reason}; type -p form=auto for what is possible"
            )
    return forms


def _require_images(form: ModalityPair, capabilities: Sequence[str], data: AssociationData) -> None:
    """Where images alone are missing, say which folders were looked for."""
    needed = {_NEEDED[kind] for kind in (form.targets, form.attributes)}
    if needed <= set(capabilities):
        names: list[str] = []
        for test in data.pairs:
            names += (test.x, test.y) if form.targets == "image" else ()
            names += (test.a, test.b) if form.attributes == "image" else ()
        data.require_images(list(dict.fromkeys(names)))


def _impossible(form: ModalityPair, capabilities: Sequence[str], data: AssociationData) -> str | None:
    needed = dict.fromkeys(_NEEDED[kind] for kind in (form.targets, form.attributes))
    missing = [name for name in needed if name not in capabilities]
    if missing:
        return f"the model lacks {' and '.join(missing)}"
    reasons = [form.lacking(data, test) for test in data.pairs]
    if reasons and all(reasons):
        more = f" (and {len(reasons) - 1} tests more)" if len(reasons) > 1 else ""
        return f"the data have {reasons[0]}{more}"
    return None if reasons else "the data hold no test"


def limited(data: AssociationData, limit: int | None) -> AssociationData:
    """The data with the first so many images of each set; words and phrases stay whole."""
    if limit is None:
        return data
    return replace(
        data,
        target_images={name: ids[:limit] for name, ids in data.target_images.items()},
        attribute_images={name: ids[:limit] for name, ids in data.attribute_images.items()},
    )
