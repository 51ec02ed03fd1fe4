"""What the page carries inside itself: scripts, styles and data, so that it never asks a network for them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from evenhand.core.unseen import harmless, json_escaped, visible
from evenhand.display.text import formatting as formats
from evenhand.display.text.language import _, digits, filled

if TYPE_CHECKING:
    import jinja2
    import markupsafe

CHARTS = files("evenhand.report") / "templates" / "vega" / "vega.js.gz"
"""What draws charts; shipped, since a JavaScript engine needs a second and 200 MB to bundle it."""

_SCRIPTS = (
    "values.js",
    "downloads.js",
    "filters.js",
    "evidence.js",
    "tables.js",
    "charts.js",
    "changes.js",
    "page.js",
)
_TEXT = re.compile(r'\b_\("([^"\\]+)"\)')
_STYLES = ("page.css", "schemes.css", "figures.css", "opening.css", "media.css")


def script_json(value: object) -> str:
    """JSON that is safe between script tags, whatever the labels hold."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return json_escaped(text)


def script_hash(script: str) -> str:
    """The hash by which the page's policy lets this very script run, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that leaves one name behind: ``vegaEmbed``."""
    source = gzip.decompress(CHARTS.read_bytes()).decode()
    return "(function(){" + source.replace("</script", "<\\/script").replace("<!--", "<\\!--") + "})();"


def own_script(*names: str) -> str:
    """Scripts of the templates, by default the page's, as one that leaves no names behind.

    Their texts stand in ``_("...")``, and are written in the page's language.
    """
    source = template_text(*(names or _SCRIPTS))
    source = _TEXT.sub(lambda match: json.dumps(_(match[1]), ensure_ascii=False), source)
    return f'(function(){{\n"use strict";\n{source}}})();'


@cache
def style() -> str:
    """The page's stylesheet."""
    return template_text(*_STYLES)


def page_environment() -> jinja2.Environment:
    """The templates of pages: all text is escaped, and a name that nothing gives is an error.

    They are compiled by each process: whoever can write a cache of code decides what the next page runs.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenhand.report", "templates/pages"),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_harmless,
    )  # fmt: skip
    environment.globals |= {"_": _marked, "plural_of": _marked_plural}
    filters = {
        "shorten": formats.shorten,
        "visible": visible,
        "count": formats.count,
        "visible_label": formats.visible_label,
        "short_label": formats.short_label,
    }
    environment.filters |= filters | {
        "number": formats.number,
        "filled": filled,
        "digits": digits,
        "unbroken": formats.unbroken,
    }
    return environment


def _harmless(value: object) -> object:
    """What a template writes; markup, scripts among it, is made of what went through here before."""
    return harmless(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _marked(text: str, /, **values: object) -> markupsafe.Markup:
    """A text in the page's language; what is no markup, the text itself too, is escaped."""
    from markupsafe import escape

    return escape(_(text)).format(**{name: _harmless(value) for name, value in values.items()})


def _marked_plural(singular: str, plural: str, n: float, /, **values: object) -> markupsafe.Markup:
    return _marked(singular if n == 1 else plural, **values)


def template_text(*names: str) -> str:
    """Stylesheets and scripts of the templates, one after the other."""
    folders = {"css": "styles", "js": "scripts"}
    templates = files("evenhand.report") / "templates"
    return "".join(
        (templates / folders[name.rpartition(".")[2]] / name).read_text(encoding="utf-8") for name in names
    )
