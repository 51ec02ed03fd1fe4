"""PAIRS on its real 200 images with two tiny chat models: ``python -m simulations.pairs_models IMAGES``.

Both models have random weights: nothing should be beyond chance. They are asked every question about every
image, each option once in every place (some minutes); the second run of the command asks nothing again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.models.tiny import build

import evenhand as eh
from evenhand.core.significance import is_beyond

MODELS = ("llava", "smolvlm")


def main() -> None:
    """Run a suite of both models and print what each finding says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path, help="folder of PAIRS, as it is cloned")
    parser.add_argument("-o", "--out", type=Path, default=Path("runs/pairs"))
    given = parser.parse_args()
    models = [f"{name}=hf:{build(name)}" for name in MODELS]
    suite = eh.run_suite("pairs", models=models, data={"pairs": given.images}, out=given.out)
    for (_, model), run in suite.runs.items():
        beyond = sum(map(is_beyond, run.findings))
        answers = run.tables["answers"]
        print(f"{model}: {run.manifest['rows']} samples, {answers.height} answers, {beyond} beyond chance")
        print("  " + ", ".join(f"{role}: {n}" for role, n in answers["role"].value_counts(sort=True).rows()))
        for finding in run.findings:
            print(f"  {finding.metric} = {finding.value}, p {finding.p_value}")
    if suite.missing:
        raise SystemExit("\n".join(suite.missing))


if __name__ == "__main__":
    main()
