"""The steps from an open answer to a label, one text at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from evenhand.core.errors import ParameterError, UnknownName, check_known
from evenhand.core.thoughts import without_thought
from evenhand.evidence.open_answers.answer_lemma import singular
from evenhand.evidence.open_answers.decisions import Decisions
from evenhand.evidence.open_answers.frames import PromptFrame, declines, named_together, unframed
from evenhand.evidence.open_answers.refusals import refuses
from evenhand.evidence.open_answers.text import (
    EMPTY,
    LONGEST,
    REFUSAL,
    SPECIAL,
    one_writing,
    says_nothing,
    without_adjective,
    without_article,
    without_gender,
    without_punctuation,
)
from evenhand.evidence.open_answers.vocabulary import Vocabulary

STEPS = ("case", "frame", "article", "punctuation", "lemma", "synonym")
"""Steps that look at the text alone and at the vocabulary, in their order."""
MATCHERS = ("embedding", "llm")
"""Steps that ask a further model about what is left; only when asked for."""
_ROUNDS = 100


@dataclass(frozen=True)
class Pipeline:
    """Which steps are taken."""

    steps: tuple[str, ...] = STEPS  # of STEPS and then MATCHERS, in that order
    gendered: bool = True  # whether the step synonym folds a gender away (waitress is waiter)

    def __post_init__(self) -> None:
        """Check the steps."""
        possible = (*STEPS, *MATCHERS)
        check_known("step of open answers", self.steps, possible)
        if list(self.steps) != [step for step in possible if step in self.steps]:
            raise ParameterError(
                f"steps={self.steps!r} are out of order or repeated; keep to {', '.join(possible)}"
            )

    def __str__(self) -> str:
        """Such as ``case > frame > synonym (gender kept)``."""
        return " > ".join(self.steps) + ("" if self.gendered else " (gender kept)")


@dataclass(frozen=True)
class NormalisedAnswer:
    """One answer on its way: the text after each step, and what it came to."""

    columns: tuple[str, ...]
    prediction: str
    category: str
    matched: str
    several: bool


@dataclass(frozen=True, eq=False)
class PipelineRun:
    """Takes texts through the steps of a pipeline."""

    vocabulary: Vocabulary
    pipeline: Pipeline = field(default_factory=Pipeline)
    decisions: Decisions | None = None
    matches: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # for each matcher, text to label

    def __post_init__(self) -> None:
        """Check that matches and decisions lead to labels."""
        for labels in self.matches.values():
            check_known("label that an answer was matched with", labels.values(), self.vocabulary.names)
        for label in self.decisions.labels if self.decisions is not None else ():
            if label not in SPECIAL and self._decided(label) not in self.vocabulary.names:
                raise UnknownName("label that was decided", label, (*self.vocabulary.names, *SPECIAL))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of steps, with ``decision`` before the matchers."""
        steps = [step for step in self.pipeline.steps if step in STEPS]
        return (*steps, *(["decision"] if self.decisions is not None else []), *self.matchers)

    @cached_property
    def _own(self) -> PromptFrame:
        """What the prompts of these images say around a class."""
        return PromptFrame.around(self.vocabulary.frames)

    @property
    def matchers(self) -> list[str]:
        """The steps that ask a further model."""
        return [step for step in self.pipeline.steps if step in MATCHERS]

    @cached_property
    def _edits(self) -> list[Callable[[str], str]]:
        """What each step that edits the text does, the synonyms aside."""
        edits: dict[str, Callable[[str], str]] = {
            "case": one_writing,
            "frame": lambda text: unframed(text, self._known, self._own),
            "article": self._article,
            "punctuation": without_punctuation,
            "lemma": self._lemma,
        }
        return [edits[step] for step in self.pipeline.steps if step in edits]

    def walk(self, raw: str, *, refused: bool = False) -> NormalisedAnswer:
        """One answer through all steps."""
        answer = self._run_steps(raw, refused=refused)
        if self.decisions is None:
            return answer
        at = self.columns.index("decision")
        before = answer.columns[at - 1] if at else raw
        is_open = answer.category == "answer" and answer.matched in ("none", *MATCHERS)
        decided = self.decisions.of(raw, before if is_open else answer.prediction, is_open=is_open)
        if decided is None:
            return replace(answer, columns=(*answer.columns[:at], before, *answer.columns[at:]))
        label = self._decided(decided)
        category = {REFUSAL: "refusal", EMPTY: "empty"}.get(label, "answer")
        columns = (*answer.columns[:at], *[label] * (len(self.columns) - at))
        return NormalisedAnswer(columns, label, category, "decision", answer.several)

    def _decided(self, label: str) -> str:
        """A person's label as predictions spell it."""
        return label if label in SPECIAL else self._run_steps(label).prediction

    def _run_steps(self, raw: str, *, refused: bool = False) -> NormalisedAnswer:
        raw = without_thought(raw) or ""  # a thought that did not end says nothing
        text, columns, steps = raw, [], self.pipeline.steps
        for index, step in enumerate(step for step in steps if step in STEPS):
            if step != "synonym" and not self._settled(text):
                text = self._stable(text, index + 1)
            columns.append(text)
        before = text
        category = self._category(raw, columns, refused=refused)
        if category != "answer":
            label = REFUSAL if category == "refusal" else EMPTY
            n_written = int(steps[:1] == ("case",) and len(steps) > 1)
            return NormalisedAnswer(
                (*columns[:n_written], *[label] * (len(steps) - n_written)), label, category, "none", False
            )
        prediction, matched = self._matched(before, columns)
        if "synonym" in steps or (matched == "exact" and columns):
            columns[-1] = prediction
        for step in self.matchers:
            match = self.matches.get(step, {}).get(prediction) if matched == "none" else None
            if match is not None:
                prediction, matched = match, step
            columns.append(prediction)
        several = "frame" in steps and named_together(one_writing(raw), self._known, self._own) > 1
        return NormalisedAnswer(tuple(columns), prediction, "answer", matched, several)

    def _settled(self, text: str) -> bool:
        """Whether no step may change a text any more: it is a label or a spelling of one."""
        return text in SPECIAL or self._named(text) is not None

    def _category(self, raw: str, columns: list[str], *, refused: bool) -> str:
        last = columns[-1] if columns else raw
        folded = one_writing(raw)
        if folded == EMPTY or (says_nothing(folded) or says_nothing(last)):
            return "empty"
        if refused or folded == REFUSAL:
            return "refusal"
        if self._label(last) is not None or folded in SPECIAL:
            return "answer"
        texts = (folded, one_writing(last))
        if "frame" in self.pipeline.steps:
            return "refusal" if any(declines(text, self._own) for text in texts) else "answer"
        return "refusal" if any(map(refuses, texts)) else "answer"

    def _matched(self, text: str, columns: list[str]) -> tuple[str, str]:
        match = self._find(text)
        if match is None:
            return text, "none"
        name, how = match
        if name not in self.vocabulary.names:  # a group of a synonym file that these labels lack
            return name, "none"
        if how == "exact" and "lemma" in self.pipeline.steps:
            index = self.pipeline.steps.index("lemma")
            if index and columns[index] != columns[index - 1]:
                how = "lemma"
        return name, how

    def _stable(self, text: str, steps: int) -> str:
        """A text, that the steps before leave as it is, after the first so many, until none changes it."""
        seen = [text]
        if (text := self._edits[steps - 1](text)) == seen[0]:
            return text
        seen.append(text)
        for _ in range(_ROUNDS):
            for edit in self._edits[:steps]:
                if self._settled(text):
                    break
                text = edit(text)
            if text in seen:
                return text if text == seen[-1] else min(seen[seen.index(text) :])
            seen.append(text)
        return text

    def _named(self, text: str) -> tuple[str, str] | None:
        """The label of a text as it is spelled."""
        match = self.vocabulary.forms.get(text)
        if match is None or (match[1] == "synonym" and "synonym" not in self.pipeline.steps):
            return None
        return None if not self.pipeline.gendered and self.vocabulary.tells_gender(text) else match

    def _find(self, text: str) -> tuple[str, str] | None:
        """The label of a text without frame, article and punctuation, by the steps that are taken."""
        match = self._spelled(text)
        if "synonym" not in self.pipeline.steps or not self.pipeline.gendered or len(text) > LONGEST:
            return match
        while match is None and (shorter := without_gender(text)) != text:
            text = self._singular(shorter)
            match = self._spelled(text)
            if match is not None:
                return match[0], "synonym"
        return match

    def _spelled(self, text: str) -> tuple[str, str] | None:
        """The label of a text: as it is spelled, of its plural, or of its words written together."""
        match = self._named(text)
        if match is None and "lemma" in self.pipeline.steps:
            match = self.vocabulary.singulars.get(text)
        if match is not None or "synonym" not in self.pipeline.steps:
            return match
        if not self.pipeline.gendered and self.vocabulary.tells_gender(text):
            return None
        return self.vocabulary.together.get(text.replace(" ", ""))

    def _label(self, text: str) -> str | None:
        """The label of a part of an answer: the later steps tried on it."""
        for step in self.pipeline.steps:
            if self._named(text) is not None:
                break
            if step == "article":
                text = without_article(text)
            elif step == "punctuation":
                text = without_punctuation(text)
            elif step == "lemma":
                text = self._lemma(text)
        match = self._find(text) or self._by_adjective(text)
        return match[0] if match is not None else None

    @cached_property
    def _known(self) -> Callable[[str], str | None]:
        """``_vocabulary_label``, that remembers: answers share their parts."""
        return lru_cache(maxsize=50_000)(self._vocabulary_label)

    def _vocabulary_label(self, text: str) -> str | None:
        """The label of a part of an answer, if it is one of those that can be right."""
        label = self._label(text)
        return label if label in self.vocabulary.names else None

    def _by_adjective(self, text: str) -> tuple[str, str] | None:
        """The label of a text whose first words are adjectives, or numbers, that say no kind."""
        if "article" not in self.pipeline.steps:
            return None
        while len(text) <= LONGEST and (shorter := without_article(without_adjective(text))) != text:
            match = self._find(self._singular(shorter))
            if match is not None:
                return match
            text = shorter
        return None

    def _article(self, text: str) -> str:
        """Without article; without adjectives too, where what is left is known."""
        bare = without_article(text)
        plain = without_punctuation(bare) if "punctuation" in self.pipeline.steps else bare
        if self._find(self._singular(plain)) is not None or self._by_adjective(plain) is None:
            return bare
        return without_adjective(bare)

    def _lemma(self, text: str) -> str:
        if self._settled(text):
            return text
        return singular(text, self.vocabulary.forms)

    def _singular(self, text: str) -> str:
        return self._lemma(text) if "lemma" in self.pipeline.steps else text
