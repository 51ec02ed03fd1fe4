"""Where evenhand keeps what it may reuse: answers of models, hashes of files, downloads."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """``$EVENHAND_HOME``, or the user's cache folder for evenhand; it may not exist yet."""
    folder = os.environ.get("EVENHAND_HOME")
    if folder:
        return Path(folder).expanduser()
    from platformdirs import user_cache_path

    return Path(user_cache_path("evenhand"))
