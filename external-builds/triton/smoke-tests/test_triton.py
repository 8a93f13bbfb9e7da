"""An installed triton compiles for AMD's GPUs, which needs none."""

from __future__ import annotations

import importlib.metadata

import pytest
import triton
import triton.language as tl
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201, N803 - triton's own language
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside), mask=inside)


@triton.jit
def product(x, y, out, SIZE: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201, N803
    row, column = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    at = row * SIZE + column
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at)))


def test_the_module_says_what_the_metadata_say() -> None:
    assert importlib.metadata.version("triton").partition("+")[0] == triton.__version__


def test_it_has_the_backend_for_rocm() -> None:
    assert "amd" in backends


@pytest.mark.parametrize(("target", "wave_size"), [("gfx942", 64), ("gfx1100", 32)])
def test_it_compiles_a_kernel_for_a_gpu_that_is_not_there(target: str, wave_size: int) -> None:
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "count": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=add, signature=signature, constexprs={"BLOCK": 256})
    made = triton.compile(source, target=GPUTarget("hip", target, wave_size))
    assert target in made.asm["amdgcn"]
    assert made.asm["hsaco"].startswith(b"\x7fELF")


def test_a_matrix_product_becomes_instructions_for_matrices() -> None:
    """On this architecture a compiler that knows it uses its matrix cores; one that does not falls back to plain multiplications."""
    signature = {"x": "*fp16", "y": "*fp16", "out": "*fp32", "SIZE": "constexpr"}
    made = triton.compile(
        ASTSource(fn=product, signature=signature, constexprs={"SIZE": 32}), target=GPUTarget("hip", "gfx942", 64)
    )
    assert "v_mfma" in made.asm["amdgcn"]


@pytest.mark.gpu
def test_a_kernel_runs_on_the_gpu(record_testsuite_property) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    torch = pytest.importorskip("torch", reason="kernels are given torch's memory")
    x, y = torch.arange(1000.0, device="cuda"), torch.ones(1000, device="cuda")
    out = torch.empty_like(x)
    add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    assert torch.equal(out, x + y)
    name = getattr(torch.cuda.get_device_properties(0), "gcnArchName", "").partition(":")[0]
    record_testsuite_property("gpu-target", name)
