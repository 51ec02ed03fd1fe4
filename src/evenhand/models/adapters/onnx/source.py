"""Networks in ONNX files: ``onnx:FILE``, with a sidecar that says how images go in and what comes out."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import InputError, MissingExtra, ParameterError, UserError, one_line
from evenhand.files.hashing import sha256_files
from evenhand.models.adapters.onnx.sidecar import ImageInput, Sidecar, read_sidecar
from evenhand.models.identity.source import LoadOptions, ModelSource
from evenhand.models.weights.hub import library_version

_PROVIDERS = {
    "cuda": "CUDAExecutionProvider",
    "mps": "CoreMLExecutionProvider",
    "cpu": "CPUExecutionProvider",
}
_EXTERNAL = b"\n\x08location\x12"  # the key "location" of an external tensor, as protobuf writes it


def open_onnx(rest: str, options: LoadOptions) -> ModelSource:
    """``onnx:FILE`` with the sidecar ``FILE.json``, or ``onnx:FILE@SIDECAR.json``."""
    library_version("onnxruntime", "onnxruntime", "onnx")
    left, at, right = rest.rpartition("@")
    has_sidecar = at and right.endswith(".json")
    path = Path(left if has_sidecar else rest).expanduser()
    if not path.is_file():
        raise InputError(f"onnx:{rest}: there is no file {str(path)!r}; give an ONNX file as onnx:FILE")
    if options.dtype not in ("auto", "float32"):
        raise ParameterError(f"an ONNX file has a precision of its own; leave out --dtype {options.dtype}")
    sidecar = Path(right).expanduser() if has_sidecar else path.with_name(path.name + ".json")
    if not sidecar.is_file():
        raise InputError(_missing(path, sidecar))
    return OnnxSource(rest, options, path, sidecar)


class OnnxSource:
    """A network in a file that is not loaded yet."""

    def __init__(self, rest: str, options: LoadOptions, path: Path, sidecar: Path) -> None:
        self.uri, self._options, self._path = f"onnx:{rest}", options, path
        self._sidecar, self._described_by = read_sidecar(sidecar)

    def identity(self) -> dict[str, str]:
        """Hashes of the file, of weights outside it and of the sidecar, and onnxruntime's version."""
        files = [self._path, *_external_files(self._path), *self._described_by]
        hashes = sha256_files(files)
        parts = {"name": self._path.name, "sha256 of network": hashes[self._path]}
        parts |= {f"sha256 of weights {file.name}": hashes[file] for file in _external_files(self._path)}
        roles = ("sidecar", "labels")
        parts |= {f"sha256 of {role}": hashes[f] for role, f in zip(roles, self._described_by, strict=False)}
        return parts | {"onnxruntime": library_version("onnxruntime", "onnxruntime", "onnx")}

    def capabilities(self) -> Sequence[str]:
        """``classifies_images`` and ``embeds_images``, as far as the sidecar names an output for them."""
        outputs = {"classifies_images": self._sidecar.classify, "embeds_images": self._sidecar.embed}
        return tuple(name for name, output in outputs.items() if output is not None)

    def load(self) -> OnnxModel:
        """The network with its sidecar."""
        session = _session(self._path, self._options.device)
        kinds = {
            (True, False): OnnxClassifier,
            (False, True): OnnxEncoder,
            (True, True): OnnxClassifierEncoder,
        }
        sidecar = self._sidecar
        return kinds[sidecar.classify is not None, sidecar.embed is not None](session, sidecar, self.uri)


class OnnxModel:
    """A session with its preprocessing."""

    def __init__(self, session: Any, sidecar: Sidecar, uri: str) -> None:
        self._session, self._sidecar, self._uri = session, sidecar, uri
        self._input = _find_input(session, sidecar.input, uri)
        first = self._input.shape[0] if self._input.shape else None
        self._batch = first if isinstance(first, int) and first > 0 else None  # else as many as are given
        for output in (sidecar.classify, sidecar.embed):
            if output is not None:
                _check_output(session, output.output, uri)
        if sidecar.classify is not None:
            _check_classes(session, sidecar, uri)

    def prepare(self, image: Pixels) -> Any:
        """The image as the sidecar says: an array of the input's dtype, shape (3, h, w) or (h, w, 3)."""
        how = self._sidecar.input
        pixels = _resized(image, how)
        if how.channels == "bgr":
            pixels = pixels[:, :, ::-1]
        array: Any = pixels
        if how.dtype != "uint8":
            array = pixels.astype(np.float32) / np.float32(255 if how.scale == "0-1" else 1)
            array = (array - np.asarray(how.mean, np.float32)) / np.asarray(how.std, np.float32)
        if how.layout == "nchw":
            array = array.transpose(2, 0, 1)
        return np.ascontiguousarray(array, dtype=how.dtype)

    def _ask(self, images: Images, output: str) -> Floats:
        """One output, shape (N, D); a network of a fixed batch is asked in parts, the last one filled up."""
        stacked = np.stack(list(images))
        size = self._batch or len(stacked)
        answers = []
        for start in range(0, len(stacked), size):
            part = stacked[start : start + size]
            filled = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])
            answer = self._session.run([output], {self._input.name: filled})[0]
            answers.append(np.asarray(answer, np.float32).reshape(size, -1)[: len(part)])
        return np.concatenate(answers)


class OnnxClassifier(OnnxModel):
    """A network with an output of classes."""

    def __init__(self, session: Any, sidecar: Sidecar, uri: str) -> None:
        super().__init__(session, sidecar, uri)
        output = sidecar.classify
        assert output is not None  # noqa: S101 - OnnxSource chooses the class by it
        self.labels = tuple(output.labels)
        self.wordnet_ids = output.wordnet_ids or ("",) * len(self.labels)
        self._output, self._logarithm = output.output, output.gives == "probabilities"

    def classify(self, images: Images) -> Floats:
        """Logits, float32, shape (N, len(labels)); a probability of 0 counts as the smallest float32."""
        answer = self._ask(images, self._output)
        if self._logarithm:
            _check_probabilities(answer, self._output, self._uri)
        return np.log(np.maximum(answer, np.finfo(np.float32).tiny)) if self._logarithm else answer


class OnnxEncoder(OnnxModel):
    """A network with an output that is an embedding."""

    def embed_images(self, images: Images) -> Floats:
        """The output as it is, flattened, float32, shape (N, D)."""
        output = self._sidecar.embed
        assert output is not None  # noqa: S101 - OnnxSource chooses the class by it
        return self._ask(images, output.output)


class OnnxClassifierEncoder(OnnxClassifier, OnnxEncoder):
    """A network with both outputs."""


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnxruntime", "onnx") from None
    return onnxruntime


def _provider(device: str) -> str:
    """The execution provider of a device; ``auto`` leaves CoreML alone, which computes in half precision."""
    here = _onnxruntime().get_available_providers()
    if device == "auto":
        return _PROVIDERS["cuda"] if _PROVIDERS["cuda"] in here else _PROVIDERS["cpu"]
    required = _PROVIDERS.get(device.partition(":")[0])
    if required not in here:
        possible = ", ".join(name for name, provider in _PROVIDERS.items() if provider in here)
        raise ParameterError(f"--device {device} is not in this onnxruntime; possible: auto, {possible}")
    return str(required)


def _session(path: Path, device: str) -> Any:
    runtime, provider = _onnxruntime(), _provider(device)
    settings = runtime.SessionOptions()
    settings.log_severity_level = 3  # errors only; they are raised as well
    # threads with nothing to do sleep: by default they burn a core each while they wait for the next layer
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    number = device.partition(":")[2]
    provider_entry = (provider, {"device_id": number}) if number else provider
    try:
        session = runtime.InferenceSession(str(path), settings, providers=[provider_entry])
    except Exception as problem:  # onnxruntime's exceptions have no common base
        cause = one_line(problem, 300)
        raise InputError(f"{str(path)!r} cannot be run as ONNX: {cause}; export the network again") from None
    if provider not in session.get_providers():  # onnxruntime falls back to the CPU without an error
        raise ParameterError(f"onnxruntime could not use --device {device} ({provider}); choose --device cpu")
    return session


def _resized(image: Pixels, how: ImageInput) -> Pixels:
    from PIL import Image

    picture, (height, width) = Image.fromarray(image), how.size
    resampling = Image.Resampling[how.filter.upper()]
    if how.resize == "squash":
        return np.asarray(picture.resize((width, height), resampling))
    wide, high = picture.size
    factor = max(width / how.crop_fraction / wide, height / how.crop_fraction / high)
    wide, high = max(width, round(wide * factor)), max(height, round(high * factor))
    left, top = (wide - width) // 2, (high - height) // 2
    resized = picture.resize((wide, high), resampling)
    return np.asarray(resized.crop((left, top, left + width, top + height)))


def _find_input(session: Any, how: ImageInput, uri: str) -> Any:
    inputs = session.get_inputs()
    matches = [entry for entry in inputs if how.name in (None, entry.name)]
    if len(matches) != 1 or len(inputs) != 1:
        raise UserError(
            f"{uri!r}: the sidecar's input is {how.name!r}, the network has {_shapes(inputs)}; "
            "name the only input (a network with several is not run)"
        )
    network_input = matches[0]
    kinds = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(uint8)": "uint8"}
    if kinds.get(network_input.type) != how.dtype:
        input_dtype = kinds.get(network_input.type, network_input.type)
        raise UserError(
            f"{uri!r}: input {network_input.name!r} is {input_dtype}, the sidecar says {how.dtype}; "
            "set input.dtype"
        )
    expected = (3, *how.size) if how.layout == "nchw" else (*how.size, 3)
    fits = len(network_input.shape) == 4 and all(
        size == expected_size
        for size, expected_size in zip(network_input.shape[1:], expected, strict=True)
        if isinstance(size, int)
    )
    if not fits:
        raise UserError(
            f"{uri!r}: the network has {_shapes([network_input])}, the sidecar makes N x {_times(expected)}; "
            "set input.size and input.layout"
        )
    return network_input


def _check_output(session: Any, name: str, uri: str) -> None:
    outputs = session.get_outputs()
    if name not in [entry.name for entry in outputs]:
        raise UserError(f"{uri!r}: there is no output {name!r}; the network has {_shapes(outputs)}")


def _check_classes(session: Any, sidecar: Sidecar, uri: str) -> None:
    output = sidecar.classify
    assert output is not None  # noqa: S101 - the caller has looked
    network_output = next(entry for entry in session.get_outputs() if entry.name == output.output)
    sizes = [size for size in network_output.shape[1:] if isinstance(size, int)]
    if len(sizes) == len(network_output.shape) - 1 and int(np.prod(sizes)) != len(output.labels):
        raise UserError(
            f"{uri!r}: {_shapes([network_output])} does not fit {len(output.labels)} labels; "
            "give one for each number"
        )


def _check_probabilities(answer: Floats, output: str, uri: str) -> None:
    """Refuse what cannot be probabilities; rows with NaN have no answer and are let through."""
    answered = answer[~np.isnan(answer).any(axis=1)].astype(np.float64)
    sums = answered.sum(axis=1)
    if not len(answered) or (
        answered.min() >= -1e-6 and answered.max() <= 1 + 1e-6 and (abs(sums - 1) <= 1e-3).all()
    ):
        return
    raise UserError(
        f"{uri!r}: output {output!r} gives numbers from {answered.min():.3g} to {answered.max():.3g} with "
        f"sums from {sums.min():.3g} to {sums.max():.3g}: no probabilities; set the sidecar's classify.gives "
        "to logits"
    )


def _missing(path: Path, sidecar: Path) -> str:
    """What to write where there is no sidecar, with the file's own names."""
    session = _session(path, "cpu")
    inputs, outputs = session.get_inputs(), session.get_outputs()
    shape = inputs[0].shape if inputs else []
    last = len(shape) == 4 and shape[-1] == 3
    image_size = [side if isinstance(side, int) else 224 for side in (shape[1:3] if last else shape[2:4])]
    start = {
        "input": {"size": image_size or [224, 224], "layout": "nhwc" if last else "nchw", "scale": "0-255"},
        "classify": {"output": outputs[-1].name, "gives": "logits", "labels": ["...", "..."]},
    }
    return (
        f"{str(path)!r} needs a sidecar (inputs: {_shapes(inputs)}; outputs: {_shapes(outputs)}); "
        f"write {str(sidecar)!r}, such as {json.dumps(start)} (docs/models.md shows every field), "
        "or give one elsewhere as onnx:FILE@SIDECAR.json"
    )


def _shapes(entries: Sequence[Any]) -> str:
    kinds = ((entry.name, entry.type.removeprefix("tensor(").rstrip(")"), entry.shape) for entry in entries)
    return ", ".join(f"{name!r} {kind} {_times(shape)}" for name, kind, shape in kinds) or "none"


def _times(shape: Sequence[Any]) -> str:
    return " x ".join("?" if size is None else str(size) for size in shape)


def _external_files(path: Path) -> list[Path]:
    """Files beside a network that hold weights of it.

    The network names them in protobuf text fields; finding those needs no library and no second of time.
    """
    names = set(_locations(path))
    return sorted(file for name in names if (file := path.parent / name).is_file())


def _locations(path: Path) -> Iterator[str]:
    if path.stat().st_size == 0:
        return
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for match in re.finditer(re.escape(_EXTERNAL), content):
            size, start = content[match.end()], match.end() + 1
            if size >= 128:  # a length in two bytes
                size, start = (size & 127) | content[start] << 7, start + 1
            yield content[start : start + size].decode("utf-8", "replace")
