"""Predictions: truth, prediction and attributes of samples, in whatever table they live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, ParameterError, UnknownName, check_choice, one_line
from evenhand.display.html import label, table
from evenhand.evidence.predictions import arrays
from evenhand.evidence.predictions import count as counting
from evenhand.evidence.predictions.columns.plain import check_name, has_value, plain_frame
from evenhand.evidence.predictions.columns.ranks import FirstRanks, first_ranks
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.count import ClusterWeights, check_one_header, engine_errors, once_each
from evenhand.evidence.predictions.counts import Counts, is_reserved
from evenhand.evidence.predictions.joined_groups import join_groups
from evenhand.evidence.predictions.label_rules import NO_RULES, LabelRules, MapLike, NormalizedCounts
from evenhand.evidence.predictions.levels import CLUSTER, check_same_kind
from evenhand.files.tables import scan as sources
from evenhand.files.tables.json_lines import check_lines

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


@dataclass(frozen=True, eq=False)
class Predictions:
    """A table of predictions, not yet counted. Make one with ``read`` or ``from_frame``.

    Counting runs where the table lives (Polars streaming for files, the user's own engine for frames); only
    Counts come back.

    Attributes:
        frame: The table behind narwhals, eager or lazy.
        truth: Column of true labels.
        prediction: Column of predicted labels.
        id: Column of sample ids, or None: then rows are samples.
        rank: Column of ranks (1 = first) where each sample has several predictions.
        confidence: Column of confidences.
        origin: Where the rows came from, None for frames.
        rules: What becomes of labels after they are counted.
        cluster: Column of what was sampled as a whole (persons, households, videos), None where rows were
            sampled one by one: intervals and tests then draw and exchange these.
        weight: Column of weights of the rows, None where all count alike.
        cluster_weights: ``rows``: each row of a cluster counts; ``equal``: each cluster counts once, its rows
            by their share of it.
        notes: What is to be known of the rows: samples of a log that failed, rows without a group.
    """

    frame: Frame
    truth: str
    prediction: str
    id: str | None = None
    rank: str | None = None
    confidence: str | None = None
    origin: sources.Origin | None = None
    rules: LabelRules = NO_RULES
    cluster: str | None = None
    weight: str | None = None
    cluster_weights: ClusterWeights = "rows"
    notes: tuple[str, ...] = ()
    _counted: dict[Any, NormalizedCounts] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        truth: str,
        prediction: str,
        id: str | None = None,
        rank: str | None = None,
        confidence: str | None = None,
        cluster: str | None = None,
        cluster_weights: ClusterWeights = "rows",
        weight: str | None = None,
        map: MapLike | None = None,
        normalize: bool = False,
        missing: str | Sequence[str] = (),
    ) -> Predictions:
        """Read CSV, TSV, Parquet, JSONL or Arrow IPC: a file, a glob, ``s3://``, ``hf://`` and the like.

        Nothing is loaded before it is counted. Labels of CSV and TSV are text. ``map``, ``normalize`` and
        ``missing`` rename and merge labels, as ``LabelRules.make`` takes them.

        Raises:
            InputError: No such file, an empty or broken one, an unknown format; truth and prediction are one
                column.
            UnknownName: A column that does not exist, with the closest that do.
        """
        rules = LabelRules.make(map, normalize, missing)
        with sources.reading(path):
            lazy, files = sources.scan(path)
            lazy.collect_schema()
            origin, notes = sources.origin(path, files), sources.notes_of(path)
        return cls(
            nw.from_native(lazy), truth, prediction, id, rank, confidence, origin, rules, cluster, weight,
            cluster_weights, notes,
        )  # fmt: skip

    @classmethod
    def read_from(
        cls, source: str, path: str | Path, *, truth: str | None = None, prediction: str | None = None,
        id: str | None = None, cluster: str | None = None, cluster_weights: ClusterWeights = "rows",
        weight: str | None = None, map: MapLike | None = None, normalize: bool = False,
        missing: str | Sequence[str] = (),
    ) -> Predictions:  # fmt: skip
        """Read the samples that another tool logged; all of the file is read at once.

        Fields of samples are columns with dotted names, such as ``doc.gender`` and ``metadata.gender``.
        Without columns those of the format are taken: ``target`` and ``answer``.

        Args:
            source: ``lm-eval``, ``lm-eval:FILTER`` (``--log_samples`` of lm-evaluation-harness), ``inspect``,
                ``inspect:SCORER`` (logs of inspect_ai) or ``coco:ANNOTATIONS`` (results beside annotations).
            path: Of the file.
            truth: Column of true labels.
            prediction: Column of predicted labels.
            id: Column of sample ids.
            cluster: Column of what was sampled as a whole.
            cluster_weights: ``rows`` or ``equal``: each cluster counts once.
            weight: Column of weights.
            map: As for ``read``.
            normalize: As for ``read``.
            missing: As for ``read``.

        Raises:
            InputError: A file of another layout, or of a tool that keeps no samples: says what to give.
            UnknownName: Another tool; a filter, scorer or column that does not exist.
        """
        from evenhand.files.other_tools.formats import read_samples_of

        rules = LabelRules.make(map, normalize, missing)
        with sources.reading(path):
            table = read_samples_of(source, path)
            file = Path(path).expanduser()
            beside = tuple(sources.origin(other, [other]) for other in table.beside)
            origin = replace(sources.origin(path, [file]), format=source, beside=beside)
        columns = {"truth": truth, "prediction": prediction, "id": id, "cluster": cluster}
        roles = {**table.roles, **{role: column for role, column in columns.items() if column is not None}}
        lazy = nw.from_native(table.frame.lazy())
        return cls(
            lazy,
            **roles,
            origin=origin,
            rules=rules,
            weight=weight,
            cluster_weights=cluster_weights,
            notes=tuple(table.notes),
        )

    def with_groups(self, groups: Any, *, on: str) -> Predictions:
        """The same rows with attributes from another table.

        Args:
            groups: A file or a frame of Polars with a row for each value of ``on``. A column that the
                predictions have, too, is called ``groups.NAME``.
            on: A column of both, or ``COLUMN=COLUMN`` where the groups call it otherwise; compared as text.

        Raises:
            InputError: A value that stands twice among the groups, no value that is in both, or rows of
                another library than Polars.
            UnknownName: A column that one of the two does not have.
        """
        origin, what = self.origin, "the groups"
        notes: tuple[str, ...] = ()
        with sources.reading(what):
            if isinstance(groups, str | Path):
                what, (lazy, files) = repr(str(groups)), sources.scan(groups)
                notes = sources.notes_of(groups)
                if origin is not None:
                    beside = replace(sources.origin(groups, files), on=on)
                    origin = replace(origin, beside=(*origin.beside, beside))
            else:
                lazy = nw.from_native(groups).lazy().to_native()
            rows, of_groups = join_groups(self.frame, lazy, on, what)
        notes = (*self.notes, *notes, *of_groups)
        return replace(self, frame=nw.from_native(rows), origin=origin, notes=notes)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        truth: str,
        prediction: str,
        id: str | None = None,
        rank: str | None = None,
        confidence: str | None = None,
        cluster: str | None = None,
        cluster_weights: ClusterWeights = "rows",
        weight: str | None = None,
        map: MapLike | None = None,
        normalize: bool = False,
        missing: str | Sequence[str] = (),
    ) -> Predictions:
        """Take a frame of pandas, Polars, pyarrow, DuckDB, PySpark, Dask or anything narwhals knows.

        ``map``, ``normalize`` and ``missing`` rename and merge labels, as ``LabelRules.make`` takes them.

        Raises:
            InputError: Not a frame, a column name that stands twice, or truth and prediction are one column.
            UnknownName: A column that does not exist, with the closest that do.
        """
        try:
            wrapped: Frame = nw.from_native(frame)
        except TypeError:
            type_name = f"{type(frame).__module__}.{type(frame).__name__}"
            raise InputError(
                f"{type_name} is not a frame; give one of pandas, Polars, pyarrow, DuckDB, PySpark or Dask"
            ) from None
        except nw.exceptions.DuplicateError as problem:
            raise InputError(
                f"several columns of the frame have one name; rename them: {one_line(problem, 200)}"
            ) from None
        rules = LabelRules.make(map, normalize, missing)
        with engine_errors("the frame"):
            plain = plain_frame(wrapped)
        return cls(
            plain, truth, prediction, id, rank, confidence, None, rules, cluster, weight,
            cluster_weights=cluster_weights,
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        groups: Any = None,
        cluster: Any = None,
        cluster_weights: ClusterWeights = "rows",
        sample_weight: Any = None,
    ) -> Predictions:
        """Take true and predicted labels as scikit-learn does: lists, arrays or Series, one value a sample.

        Args:
            y_true: True labels.
            y_pred: Predicted labels, in the same order.
            groups: The group of each sample; a mapping or a frame holds several attributes.
            cluster: What was sampled as a whole: the person, household or video of each sample.
            cluster_weights: ``rows`` or ``equal``: each cluster counts once.
            sample_weight: The weight of each sample.

        Raises:
            InputError: Values that are no list or of several kinds, lists of unlike lengths, or Series with
                one index in other orders: values are matched by position. Of other unlike indexes a
                UserWarning says so.
        """
        with engine_errors("the arrays"):
            frame, roles = arrays.frame_of(y_true, y_pred, groups, cluster, sample_weight)
        return cls.from_frame(frame, cluster_weights=cluster_weights, **roles)  # type: ignore[arg-type]  # by role

    def __post_init__(self) -> None:
        for name in self.columns:
            check_name(name)
        optional = (self.id, self.rank, self.confidence, self.cluster, self.weight)
        for column in (self.truth, self.prediction, *optional):
            if column is not None:
                self.check_column(column)
        if self.truth == self.prediction:
            raise InputError(
                f"truth and prediction are both column {self.truth!r}, so every answer would be right; name "
                "the column of what the model said as the prediction"
            )
        check_choice("cluster_weights", self.cluster_weights, get_args(ClusterWeights))
        if self.cluster is None and self.cluster_weights == "equal":
            raise ParameterError(
                "cluster_weights='equal' lets each cluster count once; name their column: --cluster COL, in "
                "Python cluster="
            )
        for role in ("cluster", "weight"):
            column = getattr(self, role)
            if column in (self.truth, self.prediction):
                raise InputError(f"column {column!r} holds labels, not the {role}; name another column")

    def _repr_html_(self) -> str:
        """Columns and what they are for; no row is read, which may be far away or about people."""
        roles = {
            self.truth: "truth",
            self.prediction: "prediction",
            self.id: "id",
            self.rank: "rank",
            self.confidence: "confidence",
            self.cluster: "cluster",
            self.weight: "weight",
        }
        types = self.frame.collect_schema().items()
        rows = [[label(name), label(dtype), roles.get(name, "")] for name, dtype in types]
        return table(f"Predictions of {self.described()}", ["Column", "Type", "Used as"], rows, [])

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return list(self.frame.collect_schema().names())

    def check_column(self, name: str) -> None:
        """Raise UnknownName, with the closest names, unless the table has this column."""
        columns = self.columns
        if name not in columns:
            raise UnknownName("column", name, columns)
        if self.origin is not None:
            sources.check_once(self.origin, name, columns)

    def count(self, attributes: Sequence[str] = ()) -> Counts:
        """Count truth x attributes x prediction in one pass, where the table lives.

        Of ranked predictions only the first rank counts here.

        Raises:
            UnknownName: An attribute that is no column.
            InputError: Values that cannot be labels, or a table that cannot be read.
        """
        return self.relabelled(attributes).counts

    def relabelled(self, attributes: Sequence[str] = ()) -> NormalizedCounts:
        """As ``count``, with what the rules changed.

        Raises:
            UnknownName: An attribute that is no column.
            InputError: Values that cannot be labels, or a table that cannot be read.
            ParameterError: Groups of the truth or of the prediction, or a map that names another column.
        """
        key = (tuple(attributes), None if self.origin is None else sources.state_of(self.origin.files))
        if key in self._counted:
            return self._counted[key]
        for attribute in attributes:
            self.check_column(attribute)
            if attribute in (self.truth, self.prediction):
                role = "truth" if attribute == self.truth else "prediction"
                raise ParameterError(
                    f"{attribute!r} is the column of the {role}, so each group would have a single {role}; "
                    "name another column with --by, in Python by="
                )
            if is_reserved(attribute):
                raise InputError(f"an attribute cannot be called {attribute!r} here; rename the column first")
        by = dict(zip(attributes, attributes, strict=True))
        columns = {"truth": self.truth, **by, "prediction": self.prediction}
        if self.cluster is not None:
            columns[CLUSTER + self.cluster] = self.cluster
        first, what = FirstRanks(self.frame), self.described()
        with engine_errors(what), sources.reading(what):
            if self.rank is not None:
                first = first_ranks(self.frame, self.rank, self.prediction, self.id)
            if self.origin is not None and self.origin.format is None:
                check_lines(self.origin.files, [*columns.values()])
            counts = counting.count(first.frame, columns, self.weight)
        check_one_header(counts, columns, self.columns, what)
        normalized = NormalizedCounts(counts)
        if self.rules != NO_RULES:
            normalized = self.rules.apply(counts, columns)
        raw, counts = counts.axes, normalized.counts
        if self.origin is not None and self.origin.is_text:
            counts = counts.with_plain_numbers(self.truth, self.prediction)
        check_same_kind(counts.axis("truth"), counts.axis("prediction"), self.truth, self.prediction)
        if self.cluster_weights == "equal":
            counts = once_each(counts)
        result = replace(normalized, counts=counts, raw=raw, notes=first.notes)
        # rows in the cloud, and those of other libraries, may become others while this object lives
        stays = bool(self.origin and self.origin.files)
        if stays or (self.origin is None and isinstance(self.frame.to_native(), pl.DataFrame | pl.LazyFrame)):
            self._counted[key] = result
        return result

    def repeated_values(self, column: str) -> int:
        """How many rows repeat a value of a column that stands on an earlier row."""
        ids = self.frame.select(nw.col(column).alias("id"))
        ids = ids.filter(has_value("id", ids.collect_schema()["id"]))
        counts = ids.select(nw.len().alias("rows"), nw.col("id").n_unique().alias("ids"))
        totals = to_polars(counts).row(0, named=True)
        return int(totals["rows"]) - int(totals["ids"])

    def described(self) -> str:
        """What messages call the table."""
        return f"{self.origin.path!r}" if self.origin else "the frame"
