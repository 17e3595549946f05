# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests: the world, and tensors with values known to every rank."""

import contextlib
import datetime
import os

import torch
import torch.distributed as dist

import torch_tern

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
FLOAT8 = tuple(getattr(torch, name) for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name))
ALL = FLOATS + INTEGERS + COMPLEX + (torch.bool,) + FLOAT8


def begin(**options):
    torch.set_num_threads(1)
    torch_tern.init()
    dist.init_process_group("tern", **options)
    return dist.get_rank(), dist.get_world_size()


def filled(dtype, size, of_rank, salt=0):
    """Returns the values of a rank: small integers, so sums and products of eight ranks are exact in every type."""
    generator = torch.Generator().manual_seed(1000 * salt + of_rank)
    values = torch.randint(0, 3, (size,) if isinstance(size, int) else size, generator=generator)
    if dtype.is_complex:
        return torch.complex(values.double(), values.flip(0).double() if values.dim() else values.double()).to(dtype)
    return values.to(dtype) if dtype != torch.bool else values > 0


def same(got, wanted, what):
    """Equal to the last bit, with type and shape."""
    assert got.dtype == wanted.dtype, f"{what}: type {got.dtype}, not {wanted.dtype}"
    assert got.shape == wanted.shape, f"{what}: shape {tuple(got.shape)}, not {tuple(wanted.shape)}"
    if got.dtype in FLOAT8:
        got, wanted = got.view(torch.uint8), wanted.view(torch.uint8)
    assert torch.equal(got, wanted), f"{what}: {got.flatten()[:8]}, not {wanted.flatten()[:8]}"


@contextlib.contextmanager
def raises(kind, words):
    try:
        yield
    except kind as error:
        assert words in str(error), f"the sentence lacks \"{words}\": {error}"
        return
    raise AssertionError(f"no {kind.__name__} with \"{words}\"")


def milliseconds(number):
    return datetime.timedelta(milliseconds=number)


def end():
    dist.destroy_process_group()
    if os.environ.get("RANK") == "0":
        print("ok")
