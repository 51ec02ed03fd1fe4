"""The official layouts of data of people, written with tiny images."""

import csv
import json
from pathlib import Path

import numpy as np
from PIL import Image


def picture(path, width=8, height=8, seed=0, **options):
    """An image of noise, so that no two are the same."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, format="PNG" if path.suffix == ".png" else "JPEG", **options)
    return path


def write_csv(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


SUBJECTS = {  # age, gender, skin type, videos, those in the dark
    "1": ("20", "Female", "5", ("0001_00", "0001_01"), ("0001_01",)),
    "2": ("N/A", "N/A", "2", ("0002_00",), ()),
    "3": ("70", "Other", "3", ("0003_00", "0003_03"), ("0003_03",)),
    "4": ("44", "Male", "4", ("0004_10",), ("0004_10",)),
}


def videos_of(part="CasualConversationsA"):
    return {
        subject: [f"{part}/{video[:4]}/{video}.MP4" for video in row[3]] for subject, row in SUBJECTS.items()
    }


def casual_conversations(folder, frames=(123,), name="CasualConversations.json"):
    """Annotations, and frames of every video but ``0003_03``, in the folder's own tree."""
    videos = videos_of()
    content = {
        subject: {
            "files": videos[subject],
            "dark_files": [file for file in videos[subject] if Path(file).stem in dark],
            "label": {"age": age, "gender": gender, "skin-type": skin},
        }
        for subject, (age, gender, skin, _, dark) in SUBJECTS.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    for seed, video in enumerate(file for files in videos.values() for file in files):
        for frame in frames if "0003_03" not in video else ():
            picture(folder / "frames" / video.replace(".MP4", f"_{frame}.jpg"), seed=1000 * seed + frame)
    return folder


def released_list(folder):
    """The list that the released code reads, for the same frames."""
    entries = [
        {
            "age": SUBJECTS[subject][0],
            "gender": SUBJECTS[subject][1],
            "skin-type": SUBJECTS[subject][2],
            "subject_id": subject,
            "img_path": f"/old/place/{file.replace('.MP4', '_123.jpg')}",
        }
        for subject, files in videos_of().items()
        for file in files
    ]
    path = folder / "CasualConversations.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def casual_conversations_v2(folder):
    """Three videos of two people; of the last one no frame was extracted."""

    def entry(video, age, gender, monk, kind, **more):
        return {
            "video_name": f"{video}.mp4",
            "subject_id": video[:4],
            "age": age,
            "gender": gender,
            "monk_skin_tone": {"scale": monk, "confidence": "high"},
            "fitzpatrick_skin_tone": {"type": kind, "confidence": "low"},
            "geo_location": {"country": "brazil", "state_region": "bahia"},
            "native_language": "portuguese",
            "secondary_languages": ["spanish", "english"],
            **more,
        }

    content = [
        entry("0000_portuguese_nonscripted_1", "31", "cis woman", "scale 5", "type iii", disability=["none"]),
        entry("0000_portuguese_scripted_1", "31", "cis woman", "scale 5", "type iii", disability=["none"]),
        entry("0001_hindi_nonscripted_2", "prefer not to say", None, "scale 10", "type vi",
              physical_attributes={"hair": "bald", "beard": True}),
    ]  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CasualConversationsV2.json").write_text(json.dumps(content), encoding="utf-8")
    for number, name in enumerate(("0000_portuguese_nonscripted_1", "0000_portuguese_scripted_1")):
        for frame in (0, 30):
            picture(folder / "part_1" / "0000" / f"{name}_raw_frame{frame:08d}.jpg", seed=10 * number + frame)
    picture(folder / "part_1" / "0001" / "0001_hindi_nonscripted_2_raw_frame00000000.jpg", seed=99)
    return folder


BOX_COLUMNS = (
    "ImageID", "LabelName", "Confidence", "XMin", "XMax", "YMin", "YMax", "IsOccluded", "IsTruncated",
    "IsGroupOf", "IsDepictionOf", "IsInsideOf", "GenderPresentation", "AgePresentation",
)  # fmt: skip


def miap(folder, split="test", *, images=True):
    """Boxes of every kind in images of 400 x 300 pixels; ``gone`` is not there and ``bad`` is damaged."""
    feminine, masculine, unknown = "Predominantly Feminine", "Predominantly Masculine", "Unknown"
    boxes = [
        ("aaaa", 0.0, 0.5, 0.0, 1.0, feminine, "Middle"),  # 200 x 300: tall
        ("aaaa", 0.0, 1.0, 0.0, 0.5, masculine, "Young"),  # 400 x 150: wide
        ("aaaa", 0.2, 0.45, 0.1, 0.45, unknown, "Older"),  # 100 x 105: large enough, square enough
        ("aaaa", 0.2, 0.44, 0.1, 0.9, feminine, "Middle"),  # 96 x 240: too narrow
        ("bbbb", 0.0, 0.6, 0.0, 0.8, masculine, "Unknown"),  # 240 x 240
        ("bbbb", 0.0, 0.6, 0.0, 0.8, masculine, "Unknown"),  # the same again
        ("bbbb", 0.5, 0.4, 0.0, 0.8, masculine, "Middle"),  # the wrong way round
        ("gone", 0.0, 1.0, 0.0, 1.0, masculine, "Middle"),
        ("bad", 0.0, 1.0, 0.0, 1.0, feminine, "Middle"),
    ]
    rows = [
        (image, "/m/01g317", "1", left, right, top, bottom, 0, 1, 0, 0, -1, gender, age)
        for image, left, right, top, bottom, gender, age in boxes
    ]
    rows.append(("bbbb", "/m/0bt9lr", "1", 0, 1, 0, 1, 0, 0, 0, 0, 0, unknown, "Unknown"))
    write_csv(folder / f"open_images_extended_miap_boxes_{split}.csv", BOX_COLUMNS, rows)
    if images:
        for seed, image in enumerate(("aaaa", "bbbb")):
            picture(folder / split / f"{image}.png", 400, 300, seed=seed)
        (folder / split / "bad.jpg").write_bytes(b"\xff\xd8\xff not whole")
    return folder


UTK_NAMES = (
    "25_1_0_20170109150557335.jpg", "26_0_1_20170116174525125.jpg", "1_1_2_20161219140623097.jpg",
    "116_0_3_20170109142408075.jpg", "12_0_4_20170110213057797.jpg",
)  # fmt: skip
MALFORMED = (
    "61_3_20170109150557335.jpg", "61_1_20170109142408075.jpg", "39_1_20170116174525125.jpg",
    "53__0_20170116184028385.jpg",
)  # fmt: skip


def utkface(folder, names=UTK_NAMES + MALFORMED):
    for seed, name in enumerate(names):
        picture(folder / name, seed=seed)
    return folder


FAIRFACE = (
    ("train/9.jpg", "10-19", "Male", "White", "True"),
    ("val/1.jpg", "more than 70", "Female", "East Asian", "False"),
    ("val/2.jpg", "0-2", "Male", "Latino_Hispanic", "True"),
    ("val/3.jpg", "3-9", "Female", "Black", "True"),
)


def fairface(folder):
    """The tables, and every image but ``val/3.jpg``."""
    header = ("file", "age", "gender", "race", "service_test")
    for split in ("train", "val"):
        rows = [row for row in FAIRFACE if row[0].startswith(split)]
        write_csv(folder / f"fairface_label_{split}.csv", header, rows)
    for seed, row in enumerate(FAIRFACE[:3]):
        picture(folder / "fairface-img-margin025-trainval" / row[0], seed=seed)
    return folder
