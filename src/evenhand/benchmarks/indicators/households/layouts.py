"""Images from households in any layout that a user may have."""

from __future__ import annotations

from pathlib import Path

from evenhand.benchmarks.datasets.listing import Layout, Listing, list_files
from evenhand.benchmarks.indicators.households import dollar_street
from evenhand.benchmarks.indicators.households import table as households_table
from evenhand.benchmarks.indicators.households.samples import Households
from evenhand.core.errors import InputError, UnknownName, check_choice

__all__ = ["HOUSEHOLD_KINDS", "Households", "household_kind_of", "list_households", "read_households"]


HOUSEHOLD_KINDS: dict[str, Layout] = {
    dollar_street.NAME: Layout(
        dollar_street.LAYOUT, lambda listing: bool(dollar_street.metadata_file(listing))
    ),
    dollar_street.MLCOMMONS: Layout(
        dollar_street.MLCOMMONS_LAYOUT, lambda listing: bool(dollar_street.csv_tables(listing))
    ),
    households_table.NAME: Layout(households_table.LAYOUT, lambda listing: len(listing.own_tables) == 1),
}
"""The layouts by name, in the order in which a folder is compared with them."""


def read_households(
    data: Path, kind: str = "auto", *, duplicates: str = "paper", split: str = ""
) -> Households:
    """Read images from households with all that is known about them; no image is decoded yet.

    ``data`` may be the table that is meant in its folder; ``duplicates`` is one of ``DUPLICATES``, and
    ``split`` chooses a table of MLCommons.
    """
    listing = list_files(Path(data))
    name = household_kind_of(listing, data) if kind == "auto" else kind
    households = list_households(listing, name, data, duplicates=duplicates, split=split)
    if not len(households.images):
        reasons = ", ".join(f"{reason}: {count}" for reason, count in households.dropped.items())
        raise InputError(
            f"no image of {str(data)!r} can be used as {name} ({reasons or 'nothing named'}); it should hold "
            f"{HOUSEHOLD_KINDS[name].layout}"
        )
    return households


def household_kind_of(listing: Listing, data: Path) -> str:
    """Of which kind a folder is, or the table that ``data`` names."""
    name = next((name for name, kind in HOUSEHOLD_KINDS.items() if kind.fits(listing)), None)
    table = _user_table(listing, data) or (listing.own_tables[0] if name == households_table.NAME else "")
    if table:
        return dollar_street.form_of(listing.folder / table) or households_table.NAME
    if name is None:
        layouts = "; ".join(f"{name}: {kind.layout}" for name, kind in HOUSEHOLD_KINDS.items())
        raise InputError(f"{str(data)!r} is none of the layouts that are read: {layouts}")
    return name


def list_households(
    listing: Listing, kind: str, data: Path, *, duplicates: str = "paper", split: str = ""
) -> Households:
    """As ``read_households`` of files that are listed already, and no image at all is an answer too."""
    if kind not in HOUSEHOLD_KINDS:
        raise UnknownName("kind of households", kind, ("auto", *HOUSEHOLD_KINDS))
    if split and kind != dollar_street.MLCOMMONS:
        raise InputError(f"{kind} has no splits; leave -p split= out")
    data_table = _user_table(listing, data)
    if not data_table and kind != households_table.NAME and not HOUSEHOLD_KINDS[kind].fits(listing):
        data_table = next(iter(listing.own_tables), "")  # a table with its columns and another name
    if kind == dollar_street.NAME:
        return dollar_street.read_dollar_street(listing, duplicates=duplicates, table=data_table)
    if kind == dollar_street.MLCOMMONS:
        if split and data_table:
            _check_split(data_table, split)
        return dollar_street.read_mlcommons(listing, duplicates=duplicates, split=split, table=data_table)
    tables = [data_table] if data_table else listing.own_tables
    if len(tables) != 1:
        raise InputError(f"{str(data)!r} holds {len(tables)} tables; give the one that is meant as the data")
    return households_table.read_households_table(listing, tables[0], duplicates=duplicates)


def _check_split(table: str, split: str) -> None:
    """Refuse a split that is not the one of the table that was given."""
    check_choice("split", split, tuple(dollar_street.SPLITS))
    if dollar_street.split_of(table) != split:
        raise InputError(
            f"{table!r} is not the table of split={split!r}; give the folder as the data, or leave "
            "-p split= out"
        )


def _user_table(listing: Listing, data: Path) -> str:
    """The table, if the user gave one rather than a folder."""
    return listing.tables[0] if listing.tables and not Path(data).expanduser().is_dir() else ""
