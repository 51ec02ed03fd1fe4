"""Which files of other tools are read, and what is said of those that hold no samples."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from evenhand.core.errors import InputError, UnknownName, one_line
from evenhand.files.other_tools.coco import read_results
from evenhand.files.other_tools.inspect_log import read_log
from evenhand.files.other_tools.lm_eval import read_samples
from evenhand.files.other_tools.samples import SampleTable, json_file

_TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


def read_samples_of(source: str, path: str | Path) -> SampleTable:
    """The samples of a tool's file: ``lm-eval[:FILTER]``, ``inspect[:SCORER]`` or ``coco:ANNOTATIONS``."""
    name, _, detail = source.partition(":")
    if name not in READERS:
        raise UnknownName("format", name, READERS, "see: docs/other-tools.md")
    if Path(path).suffix.lower() in _TABLES:
        raise InputError(
            f"{str(path)!r} is a table, and {name} writes none; leave --from out: evenhand audit "
            f"{shlex.quote(str(path))} --truth COL --prediction COL --by COL"
        )
    try:
        return READERS[name](Path(path).expanduser(), detail or None)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise InputError(
            f"{str(path)!r} has another layout of {name} than is read here ({one_line(problem, 150)}); "
            "docs/other-tools.md names the version; or write a table with truth, answer and group"
        ) from problem


def _clip_benchmark(path: Path, _: str | None) -> NoReturn:
    """CLIP_benchmark 1.6.2 (``clip_benchmark/cli.py``) dumps metrics of a data set, and no predictions."""
    content = json_file(path)
    keys = ("dataset", "model", "pretrained", "task", "metrics")
    if not isinstance(content, Mapping) or not all(key in content for key in keys):
        raise InputError(f"{str(path)!r} is no result of CLIP_benchmark: it lacks some of {', '.join(keys)}")
    model = shlex.quote(f"openclip:{content['model']}/{content['pretrained']}")
    raise InputError(
        f"{str(path)!r} holds metrics of all of {content['dataset']!r} ({', '.join(content['metrics'])}): "
        "CLIP_benchmark keeps no predictions to compare groups with; ask the model for them: evenhand run "
        f"classification --model {model} --data TABLE --image COL --truth COL --by GROUP"
    )


def _fairlearn(path: Path, _: str | None) -> NoReturn:
    """MetricFrame of fairlearn 0.15 (``__init__``) drops its rows once the metrics are computed."""
    raise InputError(
        f"{str(path)!r}: fairlearn has no file format, and a MetricFrame keeps metrics of groups, not "
        "rows; in Python give what it was made of: evenhand.Predictions.from_arrays(y_true, y_pred, "
        "groups=sensitive_features), or a frame with confusion matrices: evenhand.Counts.from_metric_frame"
    )


READERS: Mapping[str, Callable[[Path, str | None], SampleTable]] = {
    "lm-eval": read_samples,
    "inspect": read_log,
    "coco": read_results,
    "clip-benchmark": _clip_benchmark,
    "fairlearn": _fairlearn,
}
