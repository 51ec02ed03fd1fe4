"""Runs of one model at several times: their order, and how each measure moved from one to the next."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import ParameterError, UnknownName, one_line
from evenhand.core.findings import Finding
from evenhand.core.frames import flat
from evenhand.display.text.model_names import lineage_of
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.seeds import each_seed_notes

DRIFT = "drift"
_SAME = ("model", "kind", "benchmark", "mode", "parameters", "tags")  # of runs of one model, made alike
_OF_PAIRS = ("model", "reference", "unit")  # parameters that only differences have
_DRIFT = {
    "by": pl.String, "metric": pl.String, "params": pl.String, "date": pl.String, "model": pl.String,
    "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Float64, "since": pl.String,
    "change": pl.Float64, "change_corrected": pl.Float64, "change_low": pl.Float64,
    "change_high": pl.Float64, "change_level": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "reason": pl.String,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Times:
    """Runs in the order of their dates."""

    runs: list[ComparedRun]  # oldest first, called by name and date
    folders: list[str | Path]  # as they were typed, in this order
    dates: list[str]  # such as 2026-10-01; with the time where two share a day
    reordered: bool  # whether this order is another than the one typed

    def notes(self) -> list[str]:
        """That runs stand in another order than the one typed."""
        if not self.reordered:
            return []
        order = ", ".join(f"{folder} ({date})" for folder, date in zip(self.folders, self.dates, strict=True))
        return [f"runs are in the order of their dates, not as typed: {one_line(order)}"]

    def of_group(self, name: str, places: Sequence[int]) -> str:
        """When the runs of a group were made; refused if another run was made in between.

        ``places`` are those of its runs, in the order of their dates.
        """
        first, last = places[0], places[-1]
        if last - first >= len(places):
            between = next(index for index in range(first, last) if index not in places)
            raise ParameterError(
                f"group {name!r} reaches from {self.dates[first]} to {self.dates[last]}, and "
                f"{str(self.folders[between])!r} ({self.dates[between]}) lies between; give its runs dates "
                "that follow each other, or leave --group out"
            )
        return self.dates[first] if first == last else f"{self.dates[first]} to {self.dates[last]}"

    def manifest_facts(self) -> dict[str, Any]:
        """For the manifest of the comparison."""
        dates = [{"model": run.name, "date": date} for run, date in zip(self.runs, self.dates, strict=True)]
        models = {lineage_of(run.manifest) for run in self.runs}
        one_model = len(models) == 1 and "" not in models
        order = {"order_notes": self.notes()} if self.reordered else {}
        return {"over_time": True, "one_model": one_model, "dates": dates, **order}


def parse_dates(entries: Sequence[str]) -> dict[str | Path, str]:
    """Dates of runs from ``RUN=DATE`` texts."""
    dates: dict[str | Path, str] = {}
    for entry in entries:
        run, equals, date = entry.rpartition("=")
        if not equals or not run or _parsed(date) is None:
            raise ParameterError(f"--date {entry!r} cannot be read; write --date RUN=2026-10-01")
        if run in dates:
            raise ParameterError(f"--date {run} is given twice; give it once")
        dates[run] = date
    return dates


def in_time(
    read: Sequence[ComparedRun],
    folders: Sequence[str | Path],  # as they were typed
    requested: bool | None,  # None: where dates are given
    dates: Mapping[str | Path, str] | None = None,  # of some runs, by folder
) -> Times | None:
    """Runs in the order of their dates; None where they are not compared over time.

    A run's date is the one given, else its tag ``date``, else when it was made.
    """
    given_dates = _dates_by_index(dates or {}, folders)
    run_dates = [given_dates.get(index) or _date(run) for index, run in enumerate(read)]
    if requested is False or (requested is None and not given_dates):
        return None
    missing = next((folders[index] for index, date in enumerate(run_dates) if date is None), None)
    if missing is not None:
        raise ParameterError(f"{str(missing)!r} has no date; give one: --date {missing}=2026-10-01")
    order = sorted(range(len(read)), key=lambda index: _moment(str(run_dates[index])))
    for before, after in pairwise(order):
        if _moment(str(run_dates[before])) == _moment(str(run_dates[after])):
            raise ParameterError(
                f"{str(folders[before])!r} and {str(folders[after])!r} have one date ({run_dates[after]}); "
                f"tell them apart: --date {folders[after]}=2026-10-01"
            )
    date_texts = _shown([str(run_dates[index]) for index in order])
    runs = [
        replace(read[index], name=f"{read[index].name}, {date}")
        for index, date in zip(order, date_texts, strict=True)
    ]
    return Times(runs, [folders[index] for index in order], date_texts, order != sorted(order))


def typed_notes(read: Sequence[ComparedRun], folders: Sequence[str | Path]) -> list[str]:
    """That runs of one model were typed in another order than they were made; they stay as typed."""
    run_dates = [_date(run) for run in read]
    if not _one_model(read, run_dates):
        return []
    for (older, before), (newer, after) in pairwise(zip(folders, map(str, run_dates), strict=True)):
        if _moment(after) < _moment(before):
            return [
                f"runs are compared as typed, later minus earlier: {str(newer)!r} is taken as the newer, "
                f"though it was made before {str(older)!r}; --over-time orders runs by date"
            ]
    return []


def _dates_by_index(dates: Mapping[str | Path, str], folders: Sequence[str | Path]) -> dict[int, str]:
    there = {Path(folder).resolve(): index for index, folder in enumerate(folders)}
    given_dates = {}
    for run, date in dates.items():
        if Path(run).resolve() not in there:
            raise UnknownName("run to give a date", str(run), [str(folder) for folder in folders])
        if _parsed(date) is None:
            raise ParameterError(f"date {date!r} of {str(run)!r} cannot be read; write it as 2026-10-01")
        given_dates[there[Path(run).resolve()]] = date
    return given_dates


def _date(run: ComparedRun) -> str | None:
    tagged = (run.manifest.get("tags") or {}).get("date")
    candidates = [str(date) for date in (tagged, run.manifest.get("created")) if date is not None]
    return next((date for date in candidates if _parsed(date) is not None), None)


def _parsed(date: str) -> datetime.datetime | None:
    try:
        moment = datetime.datetime.fromisoformat(date.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _moment(date: str) -> datetime.datetime:
    moment = _parsed(date)
    if moment is None:
        raise ParameterError(f"date {one_line(date)!r} cannot be read; write it as 2026-10-01")
    return moment


def _shown(dates: Sequence[str]) -> list[str]:
    """Days; with the time where two runs are of one day, in UTC where they are of several zones."""
    moments = [_moment(date) for date in dates]
    if len({moment.utcoffset() for moment in moments}) > 1:
        moments = [moment.astimezone(datetime.UTC) for moment in moments]
    texts = [f"{moment:%Y-%m-%d}" for moment in moments]
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"):
        if len(set(texts)) < len(texts):
            texts = [f"{moment:{form}}" for moment in moments]
    return texts


def _one_model(read: Sequence[ComparedRun], dates: Sequence[str | None]) -> bool:
    """Whether these are runs of one named model that differ in nothing but their time."""
    if None in dates or len({_moment(str(date)) for date in dates}) < len(dates):
        return False
    tags = [{k: v for k, v in (run.manifest.get("tags") or {}).items() if k != "date"} for run in read]
    recipes = [
        json.dumps(
            [{**run.manifest, "tags": run_tags}.get(key) for key in _SAME], sort_keys=True, default=str
        )
        for run, run_tags in zip(read, tags, strict=True)
    ]
    has_model = bool(read[0].manifest.get("model"))
    return has_model and len(set(recipes)) == 1 and not each_seed_notes(read)


def drift(
    tables: Mapping[str, pl.DataFrame], findings: Sequence[Finding], dates: Mapping[str, str]
) -> pl.DataFrame:
    """Every measure at every date, and its change since the date before where there is one.

    ``tables`` has ``ranking``, or ``values`` of runs without predictions; ``findings`` are differences of
    each run minus the one before; ``dates`` has the oldest model first. The change is later minus earlier,
    and its interval is of the corrected change where there is one.
    """
    source = tables.get("values", tables.get("ranking"))
    if source is None:
        return pl.DataFrame(schema=_DRIFT)
    changes = {
        (
            finding.name.removesuffix("_difference"),
            finding.grouping,
            _told_apart(finding.params),
            finding.model,
        ): finding
        for finding in findings
        if finding.name.endswith("_difference")
    }
    order = {name: index for index, name in enumerate(dates)}
    if "params" not in source.columns:
        source = source.with_columns(params=pl.lit("{}"))
    rows = []
    for (by, metric, params), metric_rows in source.group_by("by", "metric", "params", maintain_order=True):
        for row in sorted(metric_rows.iter_rows(named=True), key=lambda row: order[row["model"]]):
            change = changes.get((str(metric), str(by), _told_apart(json.loads(str(params))), row["model"]))
            change_values = _change(change, dates) if change is not None else (None,) * 8
            values = (row["value"], row["low"], row["high"], row["n"])
            rows.append(
                (
                    by,
                    metric,
                    params,
                    dates[row["model"]],
                    row["model"],
                    *values,
                    *change_values,
                    row["reason"],
                )
            )
    return pl.DataFrame(rows, schema=_DRIFT, orient="row")


def _told_apart(params: Mapping[str, Any]) -> str:
    """What tells measures of one name and grouping apart, as text; a difference also says of which runs."""
    return json.dumps({key: value for key, value in params.items() if key not in _OF_PAIRS}, sort_keys=True)


def _change(finding: Finding, dates: Mapping[str, str]) -> tuple[str | None, *tuple[float | None, ...]]:
    columns = flat(finding)
    names = ("value", "corrected", "low", "high", "level", "p_value", "p_adjusted")
    return (dates.get(str(finding.reference)), *map(columns.__getitem__, names))
