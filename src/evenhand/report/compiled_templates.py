"""Templates of pages as Python compiled them, kept for the next page, which takes half a second less."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.metadata import version

import jinja2
from jinja2.bccache import Bucket

from evenhand.files.home import home


class _Kept(jinja2.FileSystemBytecodeCache):
    """A cache without which pages are made, too."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket; a file that was cut off, or is none of ours, is written anew."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # whatever the file holds, the template is compiled again
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the bucket, where the disk has room."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def compiled_templates() -> jinja2.BytecodeCache | None:
    """Where compiled templates are kept, by their text and the version; None: nowhere.

    What is read there is run: a folder that others own or may write to is not used.
    """
    folder = home() / "templates"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    is_mine = status.st_uid == os.getuid() and not status.st_mode & 0o022 if os.name == "posix" else True
    if not is_mine or not os.access(folder, os.W_OK):
        return None
    return _Kept(str(folder), f"{version('evenhand')}-{version('jinja2')}-%s.cache")
