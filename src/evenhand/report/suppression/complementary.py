"""Counts that add up to each other: which to hide so that no small one can be worked out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NOTHING = 1e-9  # counts of weights are floats
_DENSE = 500  # unknowns that are solved at once
_STEADY = 1e-6  # a direction in which a count does not move
_ROUNDS = 60
_TOTALS = 3  # hiding a total costs this much more than hiding one of its parts


class MarginSums:
    """Counts, the sums that tie them, and what is hidden.

    A count above 0 and below ``fewest`` is secret. ``settle`` hides more until three things hold:

    1. of the counts that add up to one that is shown, none or at least two are hidden, and the hidden ones
       are together at least ``fewest``, unless nothing is left to hide;
    2. a hidden total has a hidden count among those that add up to it;
    3. no secret follows from all sums together: there is a direction in which it can move by a little while
       every sum holds, every shown count stays, and no count falls below 0.

    The third is exact for real numbers. The direction keeps to counts above 0, because a hidden 0 cannot
    fall. What is hidden beside a secret is what is shown least often, then what is smallest; a total only
    where nothing else is left, or where it is shown far less often, so that less is lost.
    """

    def __init__(self, fewest: int) -> None:
        self.counts: list[float] = []  # of each entry
        self.hidden: set[int] = set()  # entries that are not shown
        self.open: set[int] = set()  # secrets not protected: nothing beside them was left to hide
        self._fewest = fewest
        self._shown_at: list[int] = []
        self._sums: dict[tuple[int, tuple[int, ...]], None] = {}
        self._of: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        self._with: dict[int, set[int]] = {}
        self._goes_with: dict[int, set[int]] = {}
        self._due: list[tuple[int, tuple[int, ...]]] = []
        self._public: set[int] = set()

    def add(self, count: float, *, is_shown: bool = True, public: bool = False) -> int:
        """A new entry of a count of 0 or more; its place.

        A count that the report does not show may still follow from others. A ``public`` one is no secret, and
        is hidden only with what it goes with.
        """
        entry = len(self.counts)
        self.counts.append(float(count))
        self._shown_at.append(0)
        if public:
            self._public.add(entry)
        if not is_shown or self.secret(entry):
            self.hidden.add(entry)
        return entry

    def seen(self, entry: int) -> None:
        """The report shows this entry once more."""
        self._shown_at[entry] += 1

    def goes_with(self, other: int, entry: int) -> None:
        """``other``, the right rows of a group, is hidden where all entries are that it goes with."""
        self._with.setdefault(entry, set()).add(other)
        self._goes_with.setdefault(other, set()).add(entry)
        self.hidden.discard(other)
        if self._goes_with[other] <= self.hidden:
            self.hidden.add(other)

    def keep(self) -> None:
        """Keep everything that is shown by now: only what is added later may be hidden beside secrets."""
        self._public |= set(range(len(self.counts))) - self.hidden

    def secret(self, entry: int) -> bool:
        """Whether it is too small to be shown, and not 0."""
        return entry not in self._public and _NOTHING < self.counts[entry] < self._fewest - _NOTHING

    def relate(self, total: int, parts: Iterable[int]) -> None:
        """Say that ``parts`` add up to ``total``."""
        relation = (total, tuple(parts))
        if relation in self._sums:
            return
        self._sums[relation] = None
        self._due.append(relation)
        for entry in {total, *relation[1]}:
            self._of.setdefault(entry, []).append(relation)

    def settle(self) -> None:
        """Hide what must be hidden beside the secrets."""
        for _ in range(_ROUNDS):
            self._lines()
            exposed = self._exposed() - self.open
            if not exposed:
                return
            for entry in sorted(exposed):
                if not self._hide_beside(entry):
                    self.open.add(entry)
        self._lines()
        self.open |= self._exposed()

    def _hide(self, entry: int) -> None:
        self.hidden.add(entry)
        for other in self._with.get(entry, set()):
            if self._goes_with[other] <= self.hidden:
                self.hidden.add(other)
                self._due += self._of.get(other, [])
        self._due += self._of.get(entry, [])

    def _lines(self) -> None:
        while self._due:
            total, parts = self._due.pop()
            unseen = [part for part in parts if part in self.hidden and self.counts[part] > _NOTHING]
            if total in self.hidden:
                if not unseen and self.counts[total] > _NOTHING and self._shown_at[total]:
                    self._hide_one(parts)
                continue
            while unseen and (len(unseen) < 2 or sum(self.counts[entry] for entry in unseen) < self._fewest):
                hidden_entry = self._hide_one(parts, total)
                if hidden_entry is None or hidden_entry == total:
                    break
                unseen.append(hidden_entry)

    def _hide_one(self, parts: Iterable[int], total: int | None = None) -> int | None:
        """Hide the entry that costs least; None where nothing is left."""
        costs = [
            (self._shown_at[entry] * (_TOTALS if entry == total else 1), self.counts[entry], entry)
            for entry in (*parts, *([] if total is None else [total]))
            if entry not in self.hidden and entry not in self._public and self.counts[entry] > _NOTHING
        ]
        if not costs:
            return None
        cheapest = min(costs)[-1]
        self._hide(cheapest)
        return cheapest

    def _hide_beside(self, secret: int) -> bool:
        """Hide one more entry near a secret that would follow; False where none is left."""
        visited, edge = {secret}, [secret]
        while edge:
            sums = [relation for entry in edge for relation in self._of.get(entry, ())]
            near = dict.fromkeys(entry for total, parts in sums for entry in (*parts, total))
            if self._hide_one(near) is not None:
                return True
            edge = [entry for entry in near if entry in self.hidden and entry not in visited]
            visited |= set(edge)
        return False

    def _exposed(self) -> set[int]:
        """Secrets that follow from the sums and what is shown."""
        secrets = {entry for entry in self.hidden if self.secret(entry)}
        exposed: set[int] = set()
        while secrets:
            unknown, sums = self._tied(secrets.pop())
            tied_secrets = {entry for entry in unknown if self.secret(entry)}
            secrets -= tied_secrets
            exposed |= tied_secrets & _steady(unknown, sums)
        return exposed

    def _tied(self, start: int) -> tuple[list[int], list[tuple[int, tuple[int, ...]]]]:
        """Hidden counts above 0 that sums tie to this one, and those sums."""
        visited, edge = {start: None}, [start]
        sums: dict[tuple[int, tuple[int, ...]], None] = {}
        while edge:
            for relation in self._of.get(edge.pop(), ()):
                if relation in sums:
                    continue
                sums[relation] = None
                for entry in (*relation[1], relation[0]):
                    if entry in self.hidden and entry not in visited and self.counts[entry] > _NOTHING:
                        visited[entry] = None
                        edge.append(entry)
        return list(visited), list(sums)


def _steady(unknown: Sequence[int], sums: Sequence[tuple[int, tuple[int, ...]]]) -> set[int]:
    """Unknowns that the sums fix: those that no direction moves along which all sums hold.

    A random vector's part in the null space of the sums moves every unknown that can move at all.
    """
    import numpy as np
    from scipy import sparse
    from scipy.sparse.linalg import lsqr

    places = {entry: column for column, entry in enumerate(unknown)}
    rows, columns, signs = [], [], []
    for row, (total, parts) in enumerate(sums):
        for entry, sign in [*((part, 1.0) for part in parts), (total, -1.0)]:
            if entry in places:
                rows.append(row)
                columns.append(places[entry])
                signs.append(sign)
    shape = (max(len(sums), 1), len(unknown))
    ties = sparse.csr_array((signs, (rows, columns)), shape=shape)
    random_values = np.random.default_rng(0).uniform(1, 2, len(unknown))
    random_values *= np.random.default_rng(1).choice([-1.0, 1.0], len(unknown))
    sums_drawn = np.asarray(ties @ random_values, dtype=np.float64)
    if len(unknown) <= _DENSE:
        fixed = np.linalg.lstsq(np.asarray(ties.toarray(), dtype=np.float64), sums_drawn, rcond=None)[0]
    else:
        fixed = lsqr(ties, sums_drawn, atol=1e-13, btol=1e-13, iter_lim=20 * len(unknown))[0]
    moved = np.abs(random_values - fixed)
    return {entry for entry, column in places.items() if moved[column] < _STEADY}
