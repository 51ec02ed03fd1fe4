"""Where a prefix ends, what the model must be asked, and what is added up."""

import numpy as np
import pytest
import torch

from evenhand.core.errors import ParameterError
from evenhand.models.adapters.huggingface.language.continuations import (
    check_not_empty,
    first_token_logits,
    logits_after,
    split_together,
    sum_log_probabilities,
)

VOCABULARY = 7


class Chain:
    """A language model whose next token depends on the last one only, and which counts how it is asked."""

    def __init__(self, starts: list[int]) -> None:
        self.table = torch.randn(VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(0))
        self.starts, self.asked = starts, []

    def __call__(self, tails):
        self.asked.append([list(tail) for tail in tails])
        return [self.table[[start, *tail]] for start, tail in zip(self.starts, tails, strict=True)]

    def probability(self, start, tail):
        steps = zip([start, *tail], tail, strict=False)
        return sum(float(torch.log_softmax(self.table[a].double(), 0)[b]) for a, b in steps)


def test_context_is_what_prefix_and_all_wholes_begin_with():
    assert split_together([1, 2], [[1, 2, 3], [1, 2, 4, 5]]) == (2, [[3], [4, 5]])
    # the prefix's last token is a space that merges with the next word
    assert split_together([1, 2, 9], [[1, 2, 3], [1, 2, 4, 5]]) == (2, [[3], [4, 5]])
    # it merges with one of them only: the other's space is counted with its words
    assert split_together([1, 2, 9], [[1, 2, 9, 3], [1, 2, 4]]) == (2, [[9, 3], [4]])
    assert split_together([], [[1], [2]]) == (0, [[1], [2]])
    assert split_together([1, 2], [[1], [1, 2, 3]]) == (1, [[], [2, 3]])


def test_a_continuation_without_a_token_is_refused_by_name():
    with pytest.raises(ParameterError, match="' ' has no token"):
        check_not_empty([[1], []], ["his", " "])


def test_sums_equal_the_chain_rule():
    step = Chain([0, 3])
    tails = [[[1], [2, 3], [2, 3, 4], [5, 5]], [[6], [1, 1, 1], [1], [0, 2]]]
    expected = [[step.probability(s, t) for t in row] for s, row in zip([0, 3], tails, strict=True)]
    scores = sum_log_probabilities(step, tails)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_single_tokens_need_one_call_and_shared_beginnings_are_read_once():
    step = Chain([0])
    sum_log_probabilities(step, [[[1], [2], [3]]])
    assert step.asked == [[[]]]
    step.asked.clear()
    sum_log_probabilities(step, [[[1], [2, 3], [2, 3, 4], [2, 3, 5]]])
    assert step.asked == [[[2, 3]]]
    step.asked.clear()
    sum_log_probabilities(Chain([0]), [[[1, 2], [2, 3]]])
    both = Chain([0, 1])
    sum_log_probabilities(both, [[[1, 2], [2, 3]], [[4], [5]]])
    assert both.asked == [[[1], []], [[2], []]]


def test_all_continuations_of_two_tokens_share_one_certainty():
    pairs = [[a, b] for a in range(VOCABULARY) for b in range(VOCABULARY)]
    assert np.exp(sum_log_probabilities(Chain([2]), [pairs])).sum() == pytest.approx(1, abs=1e-5)


def test_first_token_logits_are_raw():
    step = Chain([4, 5])
    logits = first_token_logits(step, [[0, 1], [6, 6]])
    np.testing.assert_array_equal(logits, [step.table[4, [0, 1]], step.table[5, [6, 6]]])


def test_nothing_asked_is_nothing_answered():
    assert sum_log_probabilities(Chain([]), []).shape == (0, 0)
    assert first_token_logits(Chain([]), []).shape == (0, 0)


def test_logits_after_keeps_each_samples_own_positions():
    table = torch.eye(10)
    seen = {}

    def forward(ids, mask, positions):
        seen.update(ids=ids.tolist(), mask=mask.tolist(), positions=positions.tolist())
        return table[ids][:, positions - 2]

    short, long = logits_after([[1], [2, 3, 4]], [[5], []], forward, torch.device("cpu"), before=2)
    assert seen["ids"] == [[1, 5, 0], [2, 3, 4]]
    assert seen["mask"] == [[1, 1, 0], [1, 1, 1]]
    assert seen["positions"] == [2, 3, 4]
    assert short.argmax(1).tolist() == [1, 5]
    assert long.argmax(1).tolist() == [4]


def test_nan_is_passed_on_to_its_own_sample_only():
    step = Chain([0, 1])
    step.table[0] = float("nan")
    scores = sum_log_probabilities(step, [[[1]], [[2]]])
    assert np.isnan(scores[0, 0])
    assert np.isfinite(scores[1, 0])
