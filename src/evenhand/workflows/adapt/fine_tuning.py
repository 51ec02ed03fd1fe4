"""Full fine-tuning: AdamW, warm-up and cosine, class weights, stopped by validation, run by accelerate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.capabilities import NotAnswered, Pixels
from evenhand.core.errors import ParameterError, UserError, one_line
from evenhand.core.frames import grouped
from evenhand.core.random_streams import stream
from evenhand.models.adapters.huggingface.towers import by_size
from evenhand.models.identity.source import LoadOptions
from evenhand.models.trainable import Trainable
from evenhand.models.weights.device import choose_device, import_torch, inference, to_numpy
from evenhand.models.weights.hub import import_library
from evenhand.stats.arrays import Integers
from evenhand.workflows.adapt.heads import accuracies
from evenhand.workflows.adapt.training_images import TrainingImages
from evenhand.workflows.execution.answering.batches import is_out_of_memory
from evenhand.workflows.execution.engines.prefetch import load

Progress = Callable[[str, int, int], None]
_RATIO = (3 / 4, 4 / 3)  # of the sides of a random crop, as is usual
_TRIES = 10


@dataclass(eq=False)
class FineTuning:
    """One fine-tuning."""

    trainable: Trainable  # its network is changed in place
    training: TrainingImages
    halves: tuple[Integers, Integers]  # rows to fit on, rows to validate on
    recipe: Mapping[str, Any]
    seed: int  # of order, crops, mirroring and dropout
    options: LoadOptions
    progress: Progress  # name, images done, images in all
    workers: int = 1  # threads that read images
    unreadable: dict[int, str] = field(default_factory=dict, init=False)  # reason by row
    history: list[dict[str, Any]] = field(default_factory=list, init=False)  # losses of each epoch

    def run(self) -> dict[str, Any]:
        """Train, put back the weights of the best epoch, and say how well they do."""
        torch = import_torch()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            try:
                return self._run(torch)
            except RuntimeError as problem:
                if not is_out_of_memory(problem):
                    raise
                raise UserError(
                    f"memory does not hold {self.recipe['batch']} images at once with all that training "
                    f"keeps: {one_line(problem, 200)}; give a smaller -p batch"
                ) from problem

    def _run(self, torch: Any) -> dict[str, Any]:
        accelerator = _accelerator(self.options, str(self.recipe["precision"]))
        network = self.trainable.network
        epochs = int(self.recipe["epochs"])
        optimizer = torch.optim.AdamW(self._groups(), lr=float(self.recipe["learning_rate"]))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, warmed_cosine(self._steps() * epochs, float(self.recipe["warm_up"]))
        )
        network, optimizer, schedule = accelerator.prepare(network, optimizer, schedule)
        loss_of = torch.nn.CrossEntropyLoss(
            weight=torch.from_numpy(self._class_weights()).float().to(accelerator.device),
            label_smoothing=float(self.recipe["label_smoothing"]),
            reduction="none",
        )
        best: dict[str, Any] = {"loss": math.inf, "epoch": 0}
        why = "epochs"
        for epoch in range(1, epochs + 1):
            fitted = self._epoch(accelerator, network, optimizer, schedule, loss_of, epoch)
            validated = self._validated(network, loss_of)
            self._note(epoch, fitted, validated, schedule)
            judged = fitted if validated["loss"] is None else validated["loss"]
            if validated["loss"] is None or judged < best["loss"]:
                best = {"loss": judged, "epoch": epoch, "weights": _copy(accelerator, network)}
            elif epoch - best["epoch"] >= int(self.recipe["patience"]):
                why = "validation"
                break
        accelerator.unwrap_model(network).load_state_dict(best["weights"])
        facts = {"epochs": best["epoch"], "stopped_because": why, "device": accelerator.device.type}
        return facts | self._counted(network, "fit", 0) | self._counted(network, "validation", 1)

    def _steps(self) -> int:
        """Steps of an epoch."""
        return max(1, math.ceil(len(self.halves[0]) / int(self.recipe["batch"])))

    def _groups(self) -> list[dict[str, Any]]:
        """Parameters by learning rate and decay: the new head learns faster, offsets do not decay."""
        rates = {True: float(self.recipe["head_learning_rate"]), False: float(self.recipe["learning_rate"])}
        groups: dict[tuple[bool, bool], list[Any]] = {}
        for name, parameter in self.trainable.network.named_parameters():
            if parameter.requires_grad:
                groups.setdefault((name in self.trainable.fresh, parameter.ndim > 1), []).append(parameter)
        decay = float(self.recipe["weight_decay"])
        return [
            {"params": some, "lr": rates[fresh], "weight_decay": decay if decays else 0.0}
            for (fresh, decays), some in groups.items()
        ]

    def _class_weights(self) -> npt.NDArray[np.float64]:
        counts = np.bincount(self.training.codes[self.halves[0]], minlength=len(self.training.classes))
        if self.recipe["class_weights"] == "none":
            return np.ones(len(counts))
        return len(self.halves[0]) / (len(counts) * np.maximum(counts, 1))

    def _epoch(
        self, accelerator: Any, network: Any, optimizer: Any, schedule: Any, loss_of: Any, epoch: int
    ) -> float:
        """One pass over the rows to fit on; the mean loss."""
        network.train()
        order = stream(self.seed, "adapt", "order", epoch).permutation(self.halves[0])
        several = np.array_split(order, self._steps())  # never one image alone, which norms cannot take
        total, count, looked_at = 0.0, 0, 0
        for rows, ready in zip(several, self._batches(several, epoch), strict=True):
            optimizer.zero_grad()
            for images, codes in _alike(ready):
                with accelerator.autocast():
                    logits = self.trainable.logits(network, images)
                losses = loss_of(logits.float(), self._codes(codes, logits))
                accelerator.backward(losses.sum() / len(ready))
                total, count = total + float(losses.detach().sum()), count + len(codes)
            if not math.isfinite(total):
                raise UserError(
                    f"the loss is {total} in epoch {epoch}; give a smaller -p learning_rate "
                    f"(now {self.recipe['learning_rate']}) or -p precision=no"
                )
            optimizer.step()
            schedule.step()
            looked_at += len(rows)
            self.progress(f"epoch {epoch}", looked_at, len(order))
        if not count:
            reasons = ", ".join(sorted(set(self.unreadable.values())))
            raise UserError(f"none of the {len(order)} images to fit on could be read: {reasons}")
        return total / count

    def _codes(self, codes: Sequence[int], logits: Any) -> Any:
        return import_torch().tensor(list(codes), device=logits.device)

    def _batches(self, several: Sequence[Integers], epoch: int) -> Iterator[list[tuple[Any, int]]]:
        """Inputs and class of the readable rows of each batch; the next batch is read meanwhile."""
        with ThreadPoolExecutor(self.workers, "images") as pool:
            coming = [[pool.submit(self._input, row, epoch) for row in rows.tolist()] for rows in several[:1]]
            for number, rows in enumerate(several):
                coming += [
                    [pool.submit(self._input, row, epoch) for row in following.tolist()]
                    for following in several[number + 1 : number + 2]
                ]
                images = [future.result() for future in coming.pop(0)]
                ready = []
                for row, image in zip(rows.tolist(), images, strict=True):
                    if isinstance(image, NotAnswered):
                        self.unreadable[row] = image.reason
                    else:
                        ready.append((image, int(self.training.codes[row])))
                yield ready

    def _input(self, row: int, epoch: int) -> Any:
        """An image as the network takes it, or why there is none; epoch 0 changes nothing in it."""

        def prepare(pixels: Pixels) -> Any:
            if epoch:
                rng = stream(self.seed, "adapt", epoch, self.training.digests[row])
                pixels = altered(pixels, rng, float(self.recipe["crop"]), self.recipe["flip"] == "yes")
            return self.trainable.prepare(pixels)

        return load(self.training.images, row, prepare)

    def _answers(self, network: Any, rows: Integers) -> Iterator[tuple[Any, list[int]]]:
        """Logits, float32, with the classes, batch by batch, of images as they are."""
        network.eval()
        batch = int(self.recipe["batch"])
        several = [rows[start : start + batch] for start in range(0, len(rows), batch)]
        for ready in self._batches(several, 0):
            if not ready:
                continue
            with inference():
                logits = by_size(
                    [image for image, _ in ready],
                    lambda some: to_numpy(self.trainable.logits(network, some)),
                )
            yield logits, [code for _, code in ready]

    def _validated(self, network: Any, loss_of: Any) -> dict[str, Any]:
        torch = import_torch()
        total, weight, right, count = 0.0, 0.0, 0, 0
        class_weights = loss_of.weight.detach().cpu()
        plain = torch.nn.CrossEntropyLoss(reduction="none")
        for logits, codes in self._answers(network, self.halves[1]):
            index = torch.tensor(codes)
            image_weights = class_weights[index]
            total += float((plain(torch.from_numpy(logits), index) * image_weights).sum())
            weight += float(image_weights.sum())
            right += int((logits.argmax(axis=1) == np.array(codes)).sum())
            count += len(codes)
        return {
            "loss": total / weight if weight else None,
            "accuracy": right / count if count else None,
        }

    def _note(self, epoch: int, fitted: float, validated: Mapping[str, Any], schedule: Any) -> None:
        self.history.append(
            {
                "epoch": epoch,
                "fit_loss": fitted,
                "validation_loss": validated["loss"],
                "validation_accuracy": validated["accuracy"],
                "learning_rate": float(schedule.get_last_lr()[0]),
            }
        )

    def _counted(self, network: Any, name: str, half: int) -> dict[str, Any]:
        """Accuracies on one half, of images as they are."""
        classes = len(self.training.classes)
        right, counts = np.zeros(classes), np.zeros(classes, dtype=np.int64)
        for logits, codes in self._answers(network, self.halves[half]):
            np.add.at(right, codes, logits.argmax(axis=1) == np.array(codes))
            np.add.at(counts, codes, 1)
        return accuracies(name, right, counts)


def altered(pixels: Pixels, rng: np.random.Generator, least: float, mirrored: bool) -> Pixels:
    """A random crop of a share of the image, at least ``least``, maybe mirrored; the processor resizes it."""
    height, width = pixels.shape[:2]
    if mirrored and rng.random() < 0.5:
        pixels = pixels[:, ::-1]
    if least >= 1:
        return np.ascontiguousarray(pixels)
    for _ in range(_TRIES):
        area = height * width * rng.uniform(least, 1)
        ratio = math.exp(rng.uniform(math.log(_RATIO[0]), math.log(_RATIO[1])))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            top, left = int(rng.integers(height - high + 1)), int(rng.integers(width - wide + 1))
            return np.ascontiguousarray(pixels[top : top + high, left : left + wide])
    return np.ascontiguousarray(pixels)


def warmed_cosine(steps: int, warm_up: float) -> Callable[[int], float]:
    """The factor of the learning rate at each step: rising to 1, then a half cosine down to 0."""
    rising = round(steps * warm_up)

    def factor(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rising) / max(1, steps - rising))))

    return factor


def _alike(ready: Sequence[tuple[Any, int]]) -> Iterator[tuple[list[Any], list[int]]]:
    """Prepared images of one size together."""
    sizes = grouped(ready, lambda item: () if isinstance(item[0], dict) else np.shape(item[0]))
    for some in sizes.values():
        yield [image for image, _ in some], [code for _, code in some]


def _copy(accelerator: Any, network: Any) -> dict[str, Any]:
    state = accelerator.unwrap_model(network).state_dict()
    return {name: tensor.detach().cpu().clone() for name, tensor in state.items()}


def _accelerator(options: LoadOptions, precision: str) -> Any:
    accelerate = import_library("accelerate", "adapt")
    device = choose_device(options)
    if device.index:
        raise ParameterError(
            f"--device {options.device} cannot be chosen for fine-tuning; type CUDA_VISIBLE_DEVICES="
            f"{device.index} before the command, and give --device {device.type}"
        )
    try:
        accelerator = accelerate.Accelerator(cpu=device.type == "cpu", mixed_precision=precision)
    except ValueError as problem:
        raise ParameterError(
            f"accelerate cannot compute with -p precision={precision} on {device.type}: "
            f"{one_line(problem, 200)}; give -p precision=no"
        ) from None
    if accelerator.num_processes > 1:
        raise UserError("fine-tuning here runs in one process; start evenhand itself, not accelerate launch")
    return accelerator
