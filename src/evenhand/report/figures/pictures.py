"""Small pictures in rows, with the name of each row beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.core.unseen import visible
from evenhand.display.text.formatting import shorten
from evenhand.report.figures import style, vega
from evenhand.report.figures.frame import chosen
from evenhand.report.figures.layout import layered

if TYPE_CHECKING:
    import polars as pl

    from evenhand.core.figure import Figure

_CELL, _GAP, _HEADING = 96.0, 6.0, 24.0
_WIDEST_TEXT = 160.0


def draw_pictures(figure: Figure, table: pl.DataFrame) -> Any:
    """A row of pictures for each name on ``y``, under a heading for each ``facet``.

    ``value`` is the column of pictures, as ``data:`` addresses; rows without a picture are left out.
    """
    rows = [row for row in chosen(figure, table).iter_rows(named=True) if _is_picture(row[figure.value])]
    pictures: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    names = list(dict.fromkeys((_text(row, figure.facet), _text(row, figure.y)) for row in rows))
    left = min(style.label_width([name for _, name in names], _WIDEST_TEXT) + 14, _WIDEST_TEXT)
    top, last, widest = 0.0, None, 1
    for facet, name in names:
        if facet and facet != last:
            texts.append({"x": 0.0, "y": top + _HEADING / 2, "text": facet, "weight": "bold"})
            top, last = top + _HEADING, facet
        texts.append({"x": 0.0, "y": top + _CELL / 2, "text": shorten(name, 26), "weight": "normal"})
        picture_rows = [
            row for row in rows if (_text(row, figure.facet), _text(row, figure.y)) == (facet, name)
        ]
        widest = max(widest, len(picture_rows))
        pictures += [
            {"x": left + column * (_CELL + _GAP) + _CELL / 2, "y": top + _CELL / 2, "url": row[figure.value]}
            for column, row in enumerate(picture_rows)
        ]
        top += _CELL + _GAP
    return _laid_out(pictures, texts, left + widest * (_CELL + _GAP), max(top, _CELL))


def _is_picture(value: object) -> bool:
    """Only pictures inside the table are drawn; nothing is fetched."""
    return isinstance(value, str) and value.startswith("data:image/")


def _text(row: dict[str, Any], column: str) -> str:
    return visible(str(row[column])) if column and row[column] is not None else ""


def _laid_out(
    pictures: list[dict[str, Any]], texts: list[dict[str, Any]], width: float, height: float
) -> Any:
    """Pictures and texts at their pixels from the upper left corner."""
    at = {"x": vega.pixels("x", [0.0, width]), "y": vega.pixels("y", [height, 0.0])}
    images = vega.Layer(style.inline(pictures)).mark("image", width=_CELL, height=_CELL, aspect=True)
    layers = [images.encode(**at, url=vega.options(field="url", type="nominal"))]
    for weight in ("bold", "normal"):
        labels = vega.Layer(style.inline([text for text in texts if text["weight"] == weight]))
        words = labels.mark(
            "text", align="left", baseline="middle", fontSize=11, fontWeight=weight, color=style.INK
        )
        layers.append(words.encode(**at, text=vega.options(field="text", type="nominal")))
    return layered(layers, width=width, height=height)
