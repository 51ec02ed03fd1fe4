"""portraits: from a generator to findings, kinds of judges, the layout of DALL-Eval, judges that err."""

import numpy as np
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.core.errors import UserError
from evenhand.core.significance import is_beyond
from evenhand.workflows.execution.options import AskOptions
from tests.models.tiny import build

OPTIONS = AskOptions(keep_answers=False, workers=1)
COOKS, PEOPLE = "a_person_who_works_as_a_cook", "a_person"
PAINTER = '''
import zlib
import numpy as np

class Painter:
    """Red stands for a man: always of a surgeon, of others by seed."""

    version = "1"

    def generate(self, prompts, seeds):
        pictures = []
        for prompt, seed in zip(prompts, seeds):
            red = "surgeon" in prompt or zlib.crc32(f"{prompt} {seed}".encode()) % 2
            picture = np.full((16, 16, 3), 40, dtype=np.uint8)
            picture[..., 0 if red else 2] = 200 + seed % 40
            pictures.append(picture)
        return pictures
'''
DEFINITION = """
name: few_portraits
class_axis: profession
attribute: wording
images_per_cell: 12
groups:
  - {name: plain, template: "A {profession}"}
  - {name: portrait, template: "Photo portrait of a {profession}"}
classes:
  - {name: person, text: person}
  - {name: surgeon, text: person who works as a(n) surgeon}
"""


def is_red(image):
    return image[0, 0, 0] > image[0, 0, 2]


class Sees:
    """Answers with the colour; of dark pictures it says nothing."""

    version = "1"

    def answer(self, images, prompts):
        assert all("woman, man" in prompt for prompt in prompts)
        dark = "I cannot tell."
        return [dark if image.max() < 100 else "A man." if is_red(image) else "A woman." for image in images]


class Classifies:
    """The same as a classifier, with labels of its own."""

    version, labels = "1", ("female", "male")

    def classify(self, images):
        return np.array([[0.0, 1.0] if is_red(image) else [1.0, 0.0] for image in images], np.float32)


class Embeds:
    """The same as a dual encoder."""

    version, logit_scale = "1", 10.0

    def embed_images(self, images):
        return [[0.0, 1.0] if is_red(image) else [1.0, 0.0] for image in images]

    def embed_texts(self, texts):
        return [[1.0, 0.0] if "woman" in text else [0.0, 1.0] for text in texts]


def run(model, data, **parameters):
    return eh.run("portraits", model=model, data=data, parameters=parameters, options=OPTIONS)


def values(result):
    return {(finding.name, *finding.by): finding for finding in result.findings}


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("portraits")
    (folder / "painter.py").write_text(PAINTER)
    (folder / "few.yaml").write_text(DEFINITION)
    eh.generate(folder / "few.yaml", f"{folder / 'painter.py'}:Painter", folder / "images")
    return folder / "images"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The layout of DALL-Eval: nine images of each prompt, one of them dark."""
    folder = tmp_path_factory.mktemp("dall_eval")
    for prompt, reds in ((COOKS, 2), (PEOPLE, 4), ("a_person_who_works_as_a_judge", 8)):
        (folder / prompt).mkdir()
        for number in range(9):
            colour = (200, 9, number) if number < reds else (9, number, 200)
            dark = (prompt, number) == (PEOPLE, 8)
            Image.new("RGB", (8, 8), (5, 5, 9) if dark else colour).save(folder / prompt / f"{number}.png")
    Image.new("RGB", (8, 8)).save(folder / "grid.png")
    return folder


def test_what_is_planted_in_a_generator_is_found_by_every_kind_of_judge(generated):
    whose = []
    for judge, more in ((Sees(), {}), (Classifies(), {"rename": "female=woman,male=man"}), (Embeds(), {})):
        result = run(judge, generated, **more)
        of = values(result)
        deviation = of["prompt_deviation",]
        parts = {part.key: part for part in deviation.parts}
        for surgeon in (
            "A person who works as a surgeon",
            "Photo portrait of a person who works as a surgeon",
        ):
            assert parts[surgeon].value == 0.5
            assert parts[surgeon].p_adjusted < 0.05
        assert parts["A person"].p_adjusted > 0.05
        assert of["perceived_distance",].value > 0.2
        by_wording = of["prompt_diversity", "wording"]
        assert {part.key for part in by_wording.parts} == {"plain", "portrait"}
        assert result.manifest["about"]["annotated_by"] == {"wording": "the prompt"}
        whose.append([finding.value for finding in result.findings])
    assert whose[0] == whose[1] == whose[2]


def test_the_layout_of_dall_eval_and_the_score_by_hand(stored):
    result = run(Sees(), stored)
    deviation = values(result)["prompt_deviation",]
    assert deviation.value == pytest.approx((abs(2 / 9 - 0.5) + 0 + abs(8 / 9 - 0.5)) / 3)  # 4 of 8 people
    dropped = {entry.reason: entry.count for entry in deviation.dropped}
    assert dropped["image outside the folder of a prompt"] == 1
    assert dropped["image that the judge says nothing of"] == 1
    assert result.tables["perceived"].filter(prompt="a person")["category"].null_count() == 1
    assert not is_beyond(deviation)


def test_a_confusion_of_the_judge_changes_the_value_and_has_to_list_abstentions(stored, tmp_path):
    known = tmp_path / "judge.csv"
    known.write_text("true,judged,n\nman,man,36\nman,woman,3\nman,,1\nwoman,woman,40\nwoman,man,0\n")
    plain, corrected = (values(run(Sees(), stored, **more)) for more in ({}, {"confusion": str(known)}))
    share = {part.key: part for part in corrected["perceived_distance",].parts}["man"]
    named = 14 / 26  # men; two ninths, four eighths and eight ninths of three prompts
    odds = np.array([named / (36 / 40), (1 - named) - named / (36 / 40) * 3 / 40])
    assert share.value == pytest.approx(odds[0] / odds.sum())
    assert share.interval.low < share.value < share.interval.high
    before, after = (of["perceived_distance",].value for of in (plain, corrected))
    assert corrected["perceived_distance",].details["uncorrected"] == pytest.approx(before)
    assert after > before
    known.write_text("true,judged,n\nman,man,36\nman,woman,4\nwoman,woman,40\n")
    assert values(run(Sees(), stored, confusion=str(known)))["prompt_deviation",].reason == "judge_abstains"
    known.write_text("true,judged\nman,cat\n")
    with pytest.raises(UserError, match="'cat'"):
        run(Sees(), stored, confusion=str(known))


def test_prompts_name_professions_and_nobody_in_particular_and_never_the_attribute():
    rows = GenerationDefinition.read("portraits").changed(images_per_cell=1).prompts()
    assert rows.height == 62
    assert {"A person", "Photo portrait of a person", "A person who works as an architect"} <= set(
        rows["prompt"]
    )
    assert not rows["prompt"].str.contains(r"(?i)\b(wo)?m[ae]n\b|\bmale|\bfemale").any()


def test_a_tiny_dual_encoder_judges(generated):
    result = run(f"hf:{build('clip')}", generated)
    assert result.tables["perceived"]["category"].is_in(["woman", "man"]).all()
    assert values(result)["prompt_diversity",].n == 48
