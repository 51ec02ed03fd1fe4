"""Labour statistics of the United States for the occupations of VisoGender."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evenhand.core.errors import InputError

_COLUMNS = {
    "Sector": "sector",
    "Specialisation": "specialisation",
    "Visogender Occupations": "occupation",
    "US Statistics Occupation Category": "category",
    "Year of publication": "year",
    "male_proportion": "male_proportion",
    "female_proportion": "female_proportion",
    "Is this an average?": "averaged",
    "Std across the categories (if averaged)": "std",
}
_NUMBERS = ("male_proportion", "female_proportion", "std")
_KEPT = ("occupation", "sector", "specialisation", "category", "year", *_NUMBERS, "averaged")


def read_labour(source: Path) -> pl.DataFrame:
    """The share of men and women in each occupation.

    Proportions, and their standard deviation over averaged categories, are between 0 and 1; ``std`` is null
    where one category was enough. Some categories are distant: software developers stand for engineers,
    artists for painters, real estate brokers for brokers.
    """
    path = _table(source)
    text = pl.read_csv(path, separator="\t", quote_char=None, infer_schema=False, truncate_ragged_lines=True)
    text = text.rename({name: name.strip() for name in text.columns})
    missing = [name for name in _COLUMNS if name not in text.columns]
    if missing:
        raise InputError(f"{str(path)!r} is no table of labour statistics: it has no column {missing[0]!r}")
    blank = pl.col(pl.String).str.strip_chars().replace("", None)
    table = text.select(list(_COLUMNS)).rename(_COLUMNS).with_columns(blank)
    table = table.filter(pl.col("occupation").is_not_null())
    try:
        table = table.with_columns(pl.col(*_NUMBERS).cast(pl.Float64) / 100, pl.col("year").cast(pl.Int64))
    except pl.exceptions.InvalidOperationError as problem:
        raise InputError(
            f"{str(path)!r} has a proportion that is not a number; mend or delete it"
        ) from problem
    total = pl.col("male_proportion") + pl.col("female_proportion")
    odd = table.filter((total - 1).abs().fill_null(1.0) > 0.002)
    if odd.height:
        raise InputError(f"{str(path)!r}: men and women of {odd['occupation'][0]!r} do not add up to 100 %")
    if table["occupation"].is_duplicated().any():
        raise InputError(f"{str(path)!r} has an occupation twice; keep one line for each")
    return table.with_columns(pl.col("averaged").str.to_lowercase() == "average").select(_KEPT)


def _table(source: Path) -> Path:
    if source.is_file():
        return source
    places = [source, source / "US_Labor_Force_Statistics", source / "data" / "US_Labor_Force_Statistics"]
    tables = [
        path for folder in places if folder.is_dir() for path in sorted(folder.glob("US_Visogender*.tsv"))
    ]
    if len(tables) != 1:
        have = ", ".join(repr(path.name) for path in tables) or "none"
        raise InputError(
            f"{str(source)!r} must have one table US_Visogender*.tsv, it has {have}; "
            "type: evenhand data fetch visogender --metadata-only"
        )
    return tables[0]
