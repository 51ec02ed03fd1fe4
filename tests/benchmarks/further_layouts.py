"""The released layouts of further benchmarks, written with drawn images whose pixels say what they show."""

import csv
import io
import json
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

FF_RACES = ("White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern")
FF_AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")


def pixels(number):
    """A small image that holds a number below 65,536."""
    image = np.zeros((8, 8, 3), dtype=np.uint8)
    image[..., 0], image[..., 1] = number // 256, number % 256
    return image


def png(number):
    """Its bytes."""
    stream = io.BytesIO()
    Image.fromarray(pixels(number)).save(stream, format="PNG")
    return stream.getvalue()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def table(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])


def shards(folder, samples, names, templates, each=None):
    """WebDataset: test/N.tar, nshards.txt and both lists; a sample is its members by ending."""
    each = each or (len(samples) + 1) // 2
    starts = range(0, len(samples), each)
    for shard, start in enumerate(starts):
        path = folder / "test" / f"{shard}.tar"
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w") as archive:
            for number, members in enumerate(samples[start : start + each], start):
                for ending, content in members.items():
                    info = tarfile.TarInfo(f"s{number:07}.{ending}")
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
    (folder / "test" / "nshards.txt").write_text(str(len(starts)))
    (folder / "classnames.txt").write_text("\n".join(names) + "\n")
    (folder / "zeroshot_classification_templates.txt").write_text("\n".join(templates) + "\n")
    return folder


def npy(*numbers):
    stream = io.BytesIO()
    np.save(stream, np.array(numbers))
    return stream.getvalue()


def faces(count):
    """Age, gender and race of faces as numbers, every race and gender in turn."""
    return [(number // 14 % 9, number % 2, number // 2 % 7) for number in range(count)]


def fairface(folder, count):
    """FairFace's own table of the validation split."""
    rows = []
    for number, (age, gender, race) in enumerate(faces(count)):
        write(folder / "val" / f"{number}.jpg", png(number))
        rows.append((f"val/{number}.jpg", FF_AGES[age], ("Male", "Female")[gender], FF_RACES[race], "True"))
    table(folder / "fairface_label_val.csv", ("file", "age", "gender", "race", "service_test"), rows)
    return folder


def fairface_shards(folder, count, words):
    """DataComp's shards of the same faces; lists of words as shipped."""
    samples = [
        {"webp": png(number), "npy": npy(age, gender, race, int(race != 0))}
        for number, (age, gender, race) in enumerate(faces(count))
    ]
    names, templates = (
        (Path(words) / file).read_text().splitlines()
        for file in ("classnames.txt", "zeroshot_classification_templates.txt")
    )
    return shards(folder, samples, names, templates)


GEO_REGIONS = ("Africa", "Americas", "EastAsia", "Europe", "SouthEastAsia", "WestAsia")
GEO_OBJECTS = ("hand soap", "bag", "street_sign")


def photos(count):
    """Object, region and country of photos as numbers: two countries a region, all cells in turn."""
    return [(n % 3, n // 3 % 6, n // 3 % 6 * 2 + n // 18 % 2) for n in range(count)]


def geode(folder, count, *, later=False):
    """The table and folders of the release; ``later``: as its later tables are."""
    rows = []
    for number, (thing, region, country) in enumerate(photos(count)):
        name = f"{GEO_REGIONS[region]}/Land_{country}/Land_{country}_{GEO_OBJECTS[thing]}_{number}.jpg"
        write(folder / "images" / name, png(number))
        place = (GEO_REGIONS[region],) if later else ()
        rows.append((name, GEO_OBJECTS[thing], *place, f"Land_{country}"))
    header = ("file_path", "object", "region") if later else ("file_name", "script_name")
    table(folder / "index.csv", (*header, "ip_country"), rows)
    return folder


def geode_shards(folder, count):
    """DataComp's shards of the same photos."""
    samples = [
        {"webp": png(number), "cls": str(thing).encode(), "npy": npy(region, country)}
        for number, (thing, region, country) in enumerate(photos(count))
    ]
    return shards(folder, samples, [name.replace("_", " ") for name in GEO_OBJECTS], ["a photo of a {c}"])


FACET_CLASSES = ("nurse", "guitarist", "ice_skater")
FACET_GENDERS, FACET_AGES = ("masc", "fem", "non_binary", "na"), ("young", "middle", "older", "na")


def people(count):
    """Class, gender and tones (annotators by tone) of people; every fifth stands beside the one before."""
    tones = [{1 + n % 9: 2, 2 + n % 9: 1} if n % 11 else {} for n in range(count)]
    return [(n % 3, (n // 3) % 2 if n % 20 else 3, tones[n]) for n in range(count)]


def facet(folder, count):
    """annotations.csv with a row for each person, and images of one or two people in halves."""
    rows, images = [], {}
    for number, (thing, gender, tones) in enumerate(people(count)):
        second = number % 5 == 4
        image = number - 1 if second else number
        left = 8 if second else 0
        images.setdefault(image, np.zeros((8, 16, 3), dtype=np.uint8))[:, left : left + 8] = pixels(number)
        box = {"x": left, "y": 0, "width": 8, "height": 8, "dict_attributes": {}}
        ages = [int(number % 4 == age) for age in range(4)]
        rows.append((
            1000 + number, f"sa_{image}.jpg", FACET_CLASSES[thing], "",
            json.dumps(box) if number % 2 else str(box),
            *[int(gender == group) for group in range(4)], *[tones.get(tone, 0) for tone in range(1, 11)],
            int(not tones), *ages, *[1, 0, 0, 0, 0, 0, 0], *[0] * 7, *[0] * 6, *[1, 1, 0], *[0, 0, 1, 0, 0],
        ))  # fmt: skip
    for image, content in images.items():
        stream = io.BytesIO()
        Image.fromarray(content).save(stream, format="PNG")
        write(folder / f"imgs_{image % 3 + 1}" / f"sa_{image}.jpg", stream.getvalue())
    groups = {
        "gender_presentation": FACET_GENDERS, "skin_tone": (*range(1, 11), "na"),
        "age_presentation": FACET_AGES,
        "hair_color": ("brown", "blonde", "grey", "black", "colored", "red", "na"),
        "hairtype": ("coily", "dreadlocks", "bald", "straight", "curly", "wavy", "na"),
        "has": ("facial_hair", "tattoo", "cap", "mask", "headscarf", "eyeware"),
        "visible": ("torso", "face", "minimal"),
        "lighting": ("underexposed", "dimly_lit", "well_lit", "overexposed", "na"),
    }  # fmt: skip
    columns = [f"{name}_{group}" for name, levels in groups.items() for group in levels]
    header = ("person_id", "filename", "class1", "class2", "bounding_box", *columns)
    table(folder / "annotations" / "annotations.csv", header, rows)
    (folder / "annotations" / "coco_boxes.json").write_text("{}")
    return folder


SC_RACES = ("White", "Black", "Indian", "Asian", "Middle Eastern", "Latino")
SC_GENDERS = ("male", "female")
SC_JOBS = ("doctor", "accountant", "chef", "engineer")


def counterfactuals(folder, sets=5, jobs=SC_JOBS):
    """Two Parquet shards with a row for each race and gender of each set; then rows of another pair."""
    import polars as pl

    rows = []
    for number, job in enumerate(job for job in jobs for _ in range(sets)):
        for race in SC_RACES:
            for gender in SC_GENDERS:
                article = "an" if race[0] in "AI" else "a"
                caption = f"A photo of {article} {race} {gender} {job}"
                rows.append((caption, number, "race", race, "gender", gender, f"{race}_{gender}"))
    rows += [("A photo of an obese male chef", 900, "physical", "obese", "gender", "male", "obese_male"),
             ("A photo of someone", 901, "race", "Black", "gender", "male", "Black_male")]  # fmt: skip
    columns = ("caption", "counterfactual_set", "a1_type", "a1", "a2_type", "a2", "a1a2")
    frame = pl.DataFrame(rows, schema=list(columns), orient="row")
    images = [{"bytes": png(number), "path": f"{number}.jpg"} for number in range(len(rows))]
    frame = frame.with_columns(
        image=pl.Series(images, dtype=pl.Struct({"bytes": pl.Binary, "path": pl.String}))
    )
    (folder / "data").mkdir(parents=True, exist_ok=True)
    half = len(rows) // 2
    for shard, part in enumerate((frame[:half], frame[half:])):
        part.select("image", *columns).write_parquet(folder / "data" / f"train-{shard:05}-of-00002.parquet")
    return folder
