"""What should stand beside the papers' figures, found in run folders and data without the package's own code.

Findings are walked as JSON by name and full setting; what no finding holds is counted anew from the run's
tables. Each function yields ``(artifact, of, measure, setting)``, as beside-the-paper.csv spells them, and a
value.
"""

from __future__ import annotations

import csv
import json
import math
import statistics
import zipfile
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import polars as pl
from PIL import Image
from scipy.stats import kendalltau, pearsonr

ANY = object()  # whatever this setting is


def findings_of(run: Path) -> list[dict]:
    return json.loads((run / "findings.json").read_text(encoding="utf-8"))["findings"]


def finding(run: Path, name: str, *by: str, **params: object) -> dict:
    """The one finding of this name, grouping and setting, of which every part is given."""
    alike = [
        entry
        for entry in findings_of(run)
        if entry["name"] == name
        and entry["by"] == list(by)
        and {key: value for key, value in entry["params"].items() if params.get(key) is not ANY}
        == {key: value for key, value in params.items() if value is not ANY}
    ]
    assert len(alike) == 1, (run.name, name, by, params, len(alike))
    return alike[0]


def parts(entry: dict) -> dict[str, float | None]:
    return {str(part["key"]): part["value"] for part in entry["parts"]}


def rows_of(path: Path) -> list[dict]:
    """The rows of a table, or of all tables in a folder."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    return [row for file in files for row in pl.read_parquet(file).to_dicts()]


def read_tsv(folder: Path, start: str) -> list[dict[str, str]]:
    (path,) = folder.glob(f"{start}*.tsv")
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


# ---------------------------------------------------------------------------------------------- SkewSize
SHAPES = ("square", "ellipse", "heart")
PLANTED = {f"sprites-{shape}": f"class {index}" for index, shape in enumerate(SHAPES)}


def cramers_v(cells: dict[tuple[str, str], int], mev: float) -> float | None:
    """V of groups by predictions without those that a group expects less than ``mev`` of; SciPy's Yates."""
    groups, labels = (sorted({key[axis] for key in cells}) for axis in (0, 1))
    row = {group: sum(n for (g, _), n in cells.items() if g == group) for group in groups}
    column = {label: sum(n for (_, p), n in cells.items() if p == label) for label in labels}
    total = sum(cells.values())
    labels = [label for label in labels if min(row[group] * column[label] / total for group in groups) >= mev]
    left = {(group, label): cells.get((group, label), 0) for group in groups for label in labels}
    row = {group: sum(left[group, label] for label in labels) for group in groups}
    total = sum(row.values())
    groups = [group for group in groups if row[group]]
    if len(groups) < 2 or len(labels) < 2:
        return None
    chi2 = 0.0
    for group, label in product(groups, labels):
        expected = row[group] * sum(left[other, label] for other in groups) / total
        apart = abs(left[group, label] - expected)
        yates = min(0.5, apart) if len(groups) == len(labels) == 2 else 0.0
        chi2 += (apart - yates) ** 2 / expected
    return math.sqrt(chi2 / total / (min(len(groups), len(labels)) - 1))


def class_effects(run: Path, attribute: str, answers: str, mev: float) -> dict[str, float | None]:
    table = "predictions_raw" if answers == "raw" else "predictions"
    cells: dict[str, Counter] = defaultdict(Counter)
    for row in rows_of(run / "counts" / f"{table}.parquet"):
        cells[row["truth"]][row[f"attribute:{attribute}"], row["prediction"]] += row["n"]
    return {truth: cramers_v(counts, mev) for truth, counts in cells.items()}


def skewness(effects: dict[str, float | None]) -> float | None:
    values = [value for value in effects.values() if value is not None]
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    second, third = (statistics.fmean((value - mean) ** power for value in values) for power in (2, 3))
    return third / second**1.5


def skewsize(out: Path, data: Path):
    runs = {"sprites-none": "none", **PLANTED}
    for folder, removed in runs.items():
        yield from _sprites(out / folder, removed)
    for folder, strength in {"none": "none", "mild": "mild", "medium": "medium", "ellipse": "strong"}.items():
        run = out / f"sprites-{folder}"
        of = ("skewsize/table2", strength)
        yield (*of, "accuracy", ""), finding(run, "accuracy", "colour")["value"]
        worst = finding(run, "worst_group_accuracy", "colour", mode="paper")["value"]
        yield (*of, "worst_group_accuracy", ""), worst
        for shape, value in parts(finding(run, "skewsize", "colour", mode="paper")).items():
            yield (*of, f"V {shape}", ""), value
    work = out / "occupations--Words"
    effect = finding(work, "skewsize", "gender", mode="paper", mev=5.0)
    for part in effect["parts"]:
        of = ("skewsize/table3", f"occupations, {part['key']}")
        yield (*of, "effect_size", ""), part["value"]
        for measure in ("accuracy", "accuracy_gap"):
            yield (*of, measure, ""), part["details"][measure]
    for answers, params in (("normalised", {}), ("raw", {"answers": "raw"})):
        by_finding = finding(work, "skewsize", "gender", mode="paper", mev=5.0, **params)["value"]
        assert math.isclose(by_finding, skewness(class_effects(work, "gender", answers, 5.0)), abs_tol=1e-9)
        yield ("skewsize/table6", f"{answers}, mev 5", "skewsize", ""), by_finding
        yield ("skewsize/table4", f"occupations, {answers}, mev 5", "skewsize", ""), by_finding
        for mev in (0, 5):  # which setting the paper's sports column has is not said
            value = skewness(class_effects(out / "sports--Words", "gender", answers, mev))
            yield ("skewsize/table4", "sports", "skewsize", f"{answers}, mev {mev}"), value
    for mev in (6, 5, 4, 3, 2):
        value = skewness(class_effects(work, "gender", "normalised", mev))
        yield ("skewsize/table7", f"MEV {mev}", "skewsize", ""), value
    yield from _domainnet(out / "domainnet--Words")


def _sprites(run: Path, removed: str):
    entry = finding(run, "skewsize", "colour", mode="paper")
    columns = {
        "DP": finding(run, "demographic_parity", "colour", aggregate="max", mode="paper"),
        "EO": finding(run, "equalized_odds", "colour", eo="avg", aggregate="max", mode="paper"),
        "V": entry,
        "phi": finding(run, "phi", "colour", mode="paper"),
    }
    for prefix, measured in columns.items():
        for shape, value in parts(measured).items():
            for table in {"V": (1, 5), "phi": (5,)}.get(prefix, (1,)):
                yield (f"skewsize/table{table}", removed, f"{prefix} {shape}", ""), value
    for name, params in (
        ("accuracy", {}), ("worst_group_accuracy", {"mode": "paper"}), ("accuracy_gap", {"mode": "paper"}),
    ):  # fmt: skip
        yield ("skewsize/table1", removed, name, ""), finding(run, name, "colour", **params)["value"]


def _domainnet(run: Path):
    effect = finding(run, "skewsize", "domain", mode="paper")
    for words, name, params in (
        ("accuracy", "accuracy", {}),
        ("worst-group accuracy", "worst_group_accuracy", {"mode": "paper"}),
        ("gap", "accuracy_gap", {"mode": "paper"}),
    ):
        of = ("skewsize/figure2", f"domainnet, {words}")
        yield (*of, "value", ""), finding(run, name, "domain", **params)["value"]
        yield (*of, "skewsize", ""), effect["value"]
    odds = parts(finding(run, "equalized_odds", "domain", eo="avg", aggregate="max", mode="paper"))
    parity = parts(finding(run, "demographic_parity", "domain", aggregate="max", mode="paper"))
    usable = [part for part in effect["parts"] if part["value"] is not None]
    measures = {
        "accuracy": [part["details"]["accuracy"] for part in usable],
        "gap": [part["details"]["accuracy_gap"] for part in usable],
        "EO": [odds[part["key"]] for part in usable],
        "DP": [parity[part["key"]] for part in usable],
    }
    for measure, values in measures.items():
        r, p = pearsonr([part["value"] for part in usable], values)
        of = ("skewsize/figure5", f"correlations, domainnet, {measure}")
        yield (*of, "r", ""), float(r)
        yield (*of, "p", ""), float(p)


# ------------------------------------------------------------------------------------------------ MMBias
TITLES = {
    "lgbt": "LGBTQ", "heterosexual": "Hetero.", "non-disabled": "Abled",
    **{name: name.title() for name in (
        "muslim", "christian", "jewish", "buddhist", "hindu", "american", "arab", "chinese", "mexican",
        "french", "italian", "physical", "mental", "visual", "hearing",
    )},
}  # fmt: skip
KEYS = {
    "LGBT": "lgbt", "disability": "physical", "visual disability": "visual", "hearing disability": "hearing",
    "mental disability": "mental", "No disability": "non-disabled",
}  # fmt: skip


def pair_of(targets: list[str]) -> str:
    return " – ".join(TITLES[name] for name in targets)


def mmbias(out: Path, data: Path):
    folder = data / "data"
    phrases = json.loads((folder / "textual_phrases.txt").read_text(encoding="utf-8"))["category_phrases"]
    images: Counter = Counter()
    for archive in (folder / "Images").glob("*.zip"):
        with zipfile.ZipFile(archive) as entries:
            images.update(name.split("/")[1].casefold() for name in entries.namelist() if ".jpg" in name)
    for key, texts in phrases.items():
        name = KEYS.get(key, key.casefold())
        of = ("mmbias/table1", TITLES[name])
        yield (*of, "phrases", ""), float(len(texts))
        yield (*of, "images", ""), float(images[name])
    for entry in findings_of(out / "association--Embeds"):
        if entry["name"] == "association_effect_size":
            of = f"{entry['params']['form']}, {pair_of(entry['params']['targets'])}"
            yield ("mmbias/table2", of, "value", ""), entry["value"]
    for entry in findings_of(out / "matching--Matches"):
        if not entry["params"].get("standardised"):
            assert entry["name"] == "match_association"
            yield (
                ("mmbias/table2", f"matching, {pair_of(entry['params']['targets'])}", "value", ""),
                entry["value"],
            )
    run = out / "debiased--Embeds"
    sizes = {
        (entry["params"]["stage"], entry["params"]["half"], tuple(entry["params"]["targets"])): entry["value"]
        for entry in findings_of(run)
        if entry["name"] == "association_effect_size"
    }
    for targets in {key[2] for key in sizes}:
        of = ("mmbias/table3", f"cross-modal, {pair_of(list(targets))}")
        before, after = (sizes[stage, "all", targets] for stage in ("before", "after"))
        yield (*of, "before", ""), before
        yield (*of, "after", ""), after
        yield (*of, "less", ""), 1 - abs(after) / abs(before)
        for stage in ("before", "after"):
            yield (*of, f"{stage}, held out", ""), sizes[stage, "held_out", targets]
    for row in rows_of(run / "tables" / "utility.parquet"):
        if row["measure"] in ("linear_probe_accuracy", "zero_shot_accuracy"):
            setting = f"{pair_of(row['mitigation'].split('--'))}, {row['measure'].replace('_', ' ')}"
            yield ("mmbias/table3", "accuracy on MMBias", "lost", setting), row["before"] - row["after"]


# ------------------------------------------------------------------------------------------- Indicators
AGES = ("18-30", "30-45", "45-70", "70+")
GROUPS = {
    "casual_conversations": [("age", age) for age in AGES],
    "utkface": [("perceived age", age) for age in AGES],
    "miap": [("perceived age", age) for age in ("young", "middle", "older", "unknown")],
}
"""Those that the paper counts; nobody of one is 0."""


def indicators(out: Path, data: Path):
    for source, counts in {
        "casual_conversations": _conversations(data / "casual_conversations"),
        "utkface": _faces(data / "utkface"),
        "miap": _boxes(data / "miap"),
    }.items():
        for (attribute, group), n in {**dict.fromkeys(GROUPS[source], 0), **counts}.items():
            yield ("indicators/table4", f"{attribute}, {group}", "value", source), float(n)
    homes = json.loads((data / "dollar_street" / "metadata_full_dollar_street.json").read_text())
    buckets = {1: "low", 2: "medium", 3: "high"}
    households = {
        (home["_id"], home["region"], buckets[round(math.log(home["income"]) / 3)]) for home in homes
    }
    regions = ("Africa", "Asia", "Europe", "The Americas", "all")
    for bucket, region in product((*buckets.values(), "all"), regions):
        n = sum(region in (home[1], "all") and bucket in (home[2], "all") for home in households)
        yield ("indicators/table5", f"{bucket}, {region}", "value", ""), float(n)


def age_group(years: int) -> str:
    return next(name for name, end in (("<18", 18), ("18-30", 30), ("30-45", 45), ("45-70", 70), ("70+", 999))
                if years < end)  # fmt: skip


def _conversations(folder: Path) -> Counter:
    counts: Counter = Counter()
    for person in json.loads((folder / "CasualConversations.json").read_text()).values():
        label, n = person["label"], len(person["files"])
        counts["all", "images"] += n
        counts["gender", label["gender"].casefold()] += n
        counts["perceived skin tone", "lighter" if int(label["skin-type"]) <= 3 else "darker"] += n
        if label["age"] != "N/A":
            counts["age", age_group(int(label["age"]))] += n
    return counts


def _faces(folder: Path) -> Counter:
    counts: Counter = Counter()
    for path in folder.iterdir():
        age, gender, race, *rest = path.name.split("_")
        if age.isdigit() and gender in ("0", "1") and race.isdigit() and rest and int(race) < 5:
            counts["all", "images"] += 1
            counts["perceived gender", {"0": "male", "1": "female"}[gender]] += 1
            counts["perceived age", age_group(int(age))] += 1
    return counts


def _boxes(folder: Path) -> Counter:
    (table,) = folder.glob("*.csv")
    boxes = set()
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        paths = [path for path in folder.rglob(f"{row['ImageID']}.*") if path.stat().st_size > 100]
        if row["LabelName"] == "/m/01g317" and paths:
            width, height = Image.open(paths[0]).size
            left, right, top, bottom = (float(row[name]) for name in ("XMin", "XMax", "YMin", "YMax"))
            if (right - left) * width >= 100 - 1e-6 and (bottom - top) * height >= 100 - 1e-6:
                boxes.add((row["ImageID"], left, right, top, bottom, row["GenderPresentation"],
                           row["AgePresentation"]))  # fmt: skip
    counts: Counter = Counter({("all", "boxes"): len(boxes)})
    genders = {"Feminine": "female", "Masculine": "male", "Unknown": "unknown"}
    for *_, gender, age in boxes:
        counts["perceived gender", genders[gender.split()[-1]]] += 1
        counts["perceived age", age.casefold()] += 1
    return counts


# ------------------------------------------------------------------------------------------- VisoGender
SETTINGS = {"single": "single", "two_person": "two persons", "same": "same", "different": "different"}
RANKED = {
    "Bias@5": ("bias_at_k", 5), "Bias@10": ("bias_at_k", 10), "MaxSkew@5": ("max_skew_at_k", 5),
    "MaxSkew@10": ("max_skew_at_k", 10), "NDKL": ("ndkl", None),
}  # fmt: skip


def visogender(out: Path, data: Path):
    from tests.papers.beside_visogender import labour, relabelled, subsampled, taxonomy

    run = out / "resolution--Embeds"
    shared = {"mode": "paper", "template": "occ_first", "candidates": "his/her/their", "ask": "captions"}
    for table, rate, gap, words, gap_words in (
        ((2, 6), "resolution_accuracy", "resolution_gap", "RA", "gap"),
        ((4,), "neutral_rate", "neutral_gap", "neutral", "neutral gap"),
    ):
        values = {f"overall {words}": finding(run, rate, setting="all", **shared)["value"]}
        for setting, title in SETTINGS.items():
            where = {"setting": setting, "where": ANY, **shared}
            values[f"{title} {words}"] = finding(run, rate, **where)["value"]
            values[f"{title} {gap_words}"] = finding(run, gap, **where)["value"]
        for number, (measure, value) in product(table, values.items()):
            yield (f"visogender/table{number}", measure, "value", ""), value
    run = out / "retrieval--Embeds"
    for number, template, suffix in (
        (3, "occ_first", ", occupation"), (6, "occ_first", ""), (5, "par_first", ", occupation"),
        (5, "par_first", ", participant"),
    ):  # fmt: skip
        subject = "participant" if "participant" in suffix else "occupation"
        for measure, (name, k) in RANKED.items():
            params = {"mode": "paper", "context": "two_person", "template": template, "subject": subject,
                      "pool": "occupation", "groups": ANY, **({"k": k} if k else {})}  # fmt: skip
            entry = finding(run, name, f"{subject}_perceived_gender", **params)
            values = list(parts(entry).values())
            assert math.isclose(entry["value"], statistics.fmean(values), abs_tol=1e-12)
            of = (f"visogender/table{number}", f"{measure}{suffix}")
            yield (*of, "value", ""), entry["value"]
            yield (*of, "sigma", ""), statistics.stdev(values)
    yield from taxonomy(data)
    yield from labour(out / "resolution--Embeds", data)
    yield from subsampled(out / "resolution--Embeds")
    yield from relabelled()


def correlated(x: list[float], y: list[float]) -> tuple[float, float]:
    return float(pearsonr(x, y)[0]), float(kendalltau(x, y)[0])


EXPECTED = {"skewsize": skewsize, "mmbias": mmbias, "indicators": indicators, "visogender": visogender}
