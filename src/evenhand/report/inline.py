"""What the page carries inside itself: scripts, styles and data, so that it never asks a network for them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from evenhand.core.text import formatting as formats
from evenhand.files.home import home

if TYPE_CHECKING:
    import jinja2

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
_STYLES = ("page.css", "schemes.css", "figures.css", "opening.css", "media.css")


def script_json(value: object) -> str:
    """JSON that is safe between script tags, whatever the labels hold."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def script_hash(script: str) -> str:
    """The hash by which the page's policy lets this very script run, and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that leaves one name behind: ``vegaEmbed``."""
    source = gzip.decompress(CHARTS.read_bytes()).decode()
    return "(function(){" + source.replace("</script", "<\\/script").replace("<!--", "<\\!--") + "})();"


def own_script(*names: str) -> str:
    """Scripts of the templates, by default the page's, as one that leaves no names behind."""
    return f'(function(){{\n"use strict";\n{template_text(*(names or _SCRIPTS))}}})();'


@cache
def style() -> str:
    """The page's stylesheet."""
    return template_text(*_STYLES)


def page_environment() -> jinja2.Environment:
    """The templates of pages: all text is escaped, and a name that nothing gives is an error."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenhand.report", "templates/pages"),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        bytecode_cache=_compiled(),
    )  # fmt: skip
    filters = {"shorten": formats.shorten, "visible": formats.visible, "count": formats.count}
    environment.filters |= filters | {"number": formats.number}
    return environment


def _compiled() -> jinja2.BytecodeCache | None:
    """Where compiled templates are kept for the next page, which takes half a second less; None: nowhere.

    They are found by their text and the version. What is read there is run: a folder that others own or may
    write to is not used.
    """
    import jinja2

    folder = home() / "templates"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    is_mine = status.st_uid == os.getuid() and not status.st_mode & 0o022 if os.name == "posix" else True
    if not is_mine or not os.access(folder, os.W_OK):
        return None
    release = f"{version('evenhand')}-{version('jinja2')}"
    return jinja2.FileSystemBytecodeCache(str(folder), f"{release}-%s.cache")


def template_text(*names: str) -> str:
    """Stylesheets and scripts of the templates, one after the other."""
    folders = {"css": "styles", "js": "scripts"}
    templates = files("evenhand.report") / "templates"
    return "".join(
        (templates / folders[name.rpartition(".")[2]] / name).read_text(encoding="utf-8") for name in names
    )
