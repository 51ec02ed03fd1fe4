"""The script of charts that reports carry, as vl-convert bundles it.

python -m tests.report.chart_library   (writes it anew, after a new release of vl-convert)
"""

from __future__ import annotations

import gzip
from importlib import metadata

import vl_convert

from evenhand.report.inline import CHARTS


def version() -> str:
    """The release of vl-convert that is installed."""
    return metadata.version("vl-convert-python")


def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed with the line that names who they are."""
    newest = max(vl_convert.get_vegalite_versions(), key=lambda text: [int(part) for part in text.split(".")])
    parts = f"Vega {vl_convert.get_vega_version()}, Vega-Lite {newest}"
    embed = f"Vega-Embed {vl_convert.get_vega_embed_version()}"
    names = f"{parts}, {embed}, of their authors, BSD-3-Clause; bundled by vl-convert {version()}"
    return f"/*! {names} */\n{vl_convert.javascript_bundle('window.vegaEmbed=vegaEmbed;')}"


if __name__ == "__main__":
    CHARTS.write_bytes(gzip.compress(bundle().encode(), 9, mtime=0))
