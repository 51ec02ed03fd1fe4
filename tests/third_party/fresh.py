"""A fresh environment in which pip installs a package beside the libraries of this one."""

from __future__ import annotations

import site
import subprocess
import sys
import venv
from pathlib import Path


def environment(folder: Path, package: Path) -> Path:
    """The Python of a fresh environment with a package, a folder or a wheel; nothing is fetched."""
    venv.EnvBuilder(with_pip=False).create(folder)
    packages = next((folder / "lib").glob("python*/site-packages"))
    beside = "\n".join(f"import site; site.addsitedir({path!r})" for path in site.getsitepackages())
    (packages / "beside.pth").write_text(beside + "\n")
    executable = folder / "bin" / "python"
    quiet = [
        "--quiet",
        "--no-compile",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--disable-pip-version-check",
    ]
    install = [sys.executable, "-m", "pip", "--python", str(executable), "install", *quiet, str(package)]
    subprocess.run(install, check=True, capture_output=True)
    return executable
