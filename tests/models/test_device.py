"""Which device a model computes on, how much memory it has, and that float32 there is float32."""

from __future__ import annotations

import pytest

from evenhand.core.errors import InputError, ParameterError
from evenhand.models.adapters.huggingface.quantization import size_arguments
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from evenhand.models.weights import checkpoint
from evenhand.models.weights.device import choose_device, inference
from evenhand.workflows.execution.answering.batches import is_out_of_memory
from tests.models.everything import ask_everything
from tests.models.tiny import build

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda:2", "--device cuda:2 is not here; possible: cuda:0, cuda:1$"),
        ("cuda:x", "'cuda:x' is no device; possible: auto, cuda, cpu$"),
        ("tpu", "tpu is not here; possible: auto, cuda, cpu$"),
    ],
)
def test_a_device_that_is_not_here_is_refused_in_a_line(two_gpus, name, message):
    with pytest.raises(ParameterError, match=message):
        choose_device(LoadOptions(device=name))


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:1", "cpu"])
def test_a_device_that_is_here_is_taken_by_its_name(two_gpus, name):
    assert str(choose_device(LoadOptions(device=name))) == name


@pytest.mark.parametrize("name", ["auto", "cuda:1"])
def test_memory_that_torch_keeps_of_models_that_are_gone_is_free(monkeypatch, name):
    place = "cuda" if name == "auto" else name
    measured = {
        "mem_get_info": lambda device: (300, 1_000) if str(device) == place else (0, 0),
        "memory_reserved": lambda device: 600 if str(device) == place else 0,
        "memory_allocated": lambda device: 100 if str(device) == place else 0,
    }
    for function, answer in measured.items():
        monkeypatch.setattr(torch.cuda, function, answer)
    assert checkpoint.free_memory("cuda", name) == 800


@pytest.mark.parametrize(
    ("said", "expected"),
    [("CUDA error: out of memory\nSearch for it", 0), ("CUDA error: no kernel image\nSearch for it", None)],
)
def test_a_gpu_that_cannot_be_asked_is_full_or_named_in_a_line(monkeypatch, said, expected):
    def refuse(_):
        raise RuntimeError(said)

    monkeypatch.setattr(torch.cuda, "mem_get_info", refuse)
    for function in ("memory_reserved", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, function, lambda _: 0)
    if expected is not None:
        assert checkpoint.free_memory("cuda") == expected
        return
    with pytest.raises(InputError, match=r"^cuda cannot .*: CUDA error: no kernel image; type --device cpu$"):
        checkpoint.free_memory("cuda")


def test_a_model_spread_over_all_devices_stays_on_the_cpu_if_told_so(two_gpus):
    pytest.importorskip("accelerate")
    placed = {name: size_arguments(LoadOptions(device=name, device_map="auto")) for name in ("cpu", "cuda")}
    assert placed == {"cpu": {"device_map": {"": torch.device("cpu")}}, "cuda": {"device_map": "auto"}}
    with pytest.raises(ParameterError, match="leave one of them out"):
        resolve(f"hf:{build('clip')}", LoadOptions(device="cuda:1", device_map="auto"))


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    ],
)
def test_every_way_of_a_gpu_to_say_that_memory_ran_out_is_known(message):
    assert is_out_of_memory(RuntimeError(message))


@pytest.fixture
def shortened():
    """Whenever a layer with weights is called, whether convolutions of float32 would be shortened."""
    seen = []

    def look(layer, _):
        if next(layer.parameters(), None) is not None:  # preparing an image calls layers without weights
            seen.append(torch.backends.cudnn.allow_tf32)

    hook = torch.nn.modules.module.register_module_forward_pre_hook(look)
    usual, torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32, True
    yield seen
    hook.remove()
    torch.backends.cudnn.allow_tf32 = usual


@pytest.mark.parametrize(
    "name", ["clip", "vit", "resnet", "dinov2_features", "vilt", "blip_itm", "blip_caption", "llava"]
)
def test_no_model_shortens_float32(name, pictures, shortened):
    ask_everything(resolve(f"hf:{build(name)}", LoadOptions(device="cpu")).load(), pictures)
    assert shortened
    assert not any(shortened)
    assert torch.backends.cudnn.allow_tf32


def test_no_network_of_timm_shortens_float32(tmp_path, pictures, shortened):
    timm = pytest.importorskip("timm")
    from safetensors.torch import save_file

    file = tmp_path / "weights.safetensors"
    save_file(timm.create_model("test_resnet").state_dict(), file)
    ask_everything(resolve(f"timm:test_resnet@{file}", LoadOptions(device="cpu")).load(), pictures)
    assert shortened
    assert not any(shortened)


def test_what_was_chosen_before_is_chosen_again_after_an_error(shortened):
    def fail():
        with inference():
            assert not torch.backends.cudnn.allow_tf32
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert torch.backends.cudnn.allow_tf32


def test_a_choice_by_the_newer_switch_of_torch_is_left_alone():
    convolutions = getattr(torch.backends.cudnn, "conv", None)
    if not hasattr(convolutions, "fp32_precision"):
        pytest.skip("needs torch 2.9")
    torch.backends.cudnn.allow_tf32 = True
    convolutions.fp32_precision = "ieee"
    try:
        with inference():
            assert convolutions.fp32_precision == "ieee"
            assert not torch.ones(1, requires_grad=True).mul(2).requires_grad
        assert convolutions.fp32_precision == "ieee"
    finally:
        convolutions.fp32_precision = "tf32"
        torch.backends.cudnn.allow_tf32 = True


@pytest.mark.parametrize("name", ["clip", "siglip", "align"])
def test_half_precision_leaves_scale_and_offset_of_logits_whole(name):
    """CLIP's first scale is 14.285, and would be 14.243 in bfloat16."""
    whole, *halves = (
        resolve(f"hf:{build(name)}", LoadOptions(device="cpu", dtype=dtype)).load()
        for dtype in ("float32", "bfloat16", "float16")
    )
    for half in halves:
        assert (half.logit_scale, half.logit_bias) == (whole.logit_scale, whole.logit_bias)
