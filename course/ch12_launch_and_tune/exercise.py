"""Chapter 12, Launching and tuning: exercises.

Each function below is one of the compiler's own. Write its body; then

    tilec course grade ch12
    tilec course hint ch12 NAME

What is imported here is what a solution needs. One unfinished function stops no other.
"""

# ruff: noqa: F401

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from tilelang.runtime.arrays import DeviceArray, Number, Refused, describe, offers
from tilelang.runtime.calls import _inputs
from tilelang.runtime.overlap import Array, _some_offsets_are_near
from tilelang.runtime.tuning.race import CLOSE
from tilelang.runtime.tuning.space import Config
from tilelang.runtime.tuning.store import Tunable
from tilelang.semantics.signature import Signature


# --- warm-up: next_pow2 -------------------------------------------------------------------------------------
def next_pow2(n: int) -> int:
    """The smallest power of two that is at least `max(n, 1)`.

    `BLOCK = next_pow2(N)` is how a kernel asks for a tile that holds a whole row.

    >>> next_pow2(1000), next_pow2(1024), next_pow2(0)
    (1024, 1024, 1)
    """
    raise NotImplementedError


# --- warm-up: row_major -------------------------------------------------------------------------------------
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array of this shape whose rows lie one after another: how far it is from
    one element to the next along each axis.

    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    raise NotImplementedError


# --- warm-up: _ids ------------------------------------------------------------------------------------------
def _ids(program: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """Programs of a grid are numbered with its first axis counting fastest. Give the coordinates of one.

    >>> _ids(7, (4, 3))
    (3, 1)
    """
    raise NotImplementedError


# --- warm-up: winner ----------------------------------------------------------------------------------------
def winner(seconds: Mapping[int, float]) -> int:
    """The fastest; of those that are as fast as can be told, the one with the lowest number.

    Tuning has measured the configurations of a kernel: seconds by number, 0 being the default. Times within
    a factor of `CLOSE` of the fastest cannot be told from it; of these take the lowest number, so that the
    default stays unless another is really faster.

    >>> winner({0: 1.5, 1: 1.01, 2: 1.0})
    1
    """
    raise NotImplementedError


# --- core: key_of -------------------------------------------------------------------------------------------
def key_of(*parts: str) -> str:
    """A name for what these parts decide together.

    A compiled kernel is kept under a key made of all that decides it. Two lists of parts must not get one
    key because their texts happen to join to the same: `("ab", "c")` is not `("a", "bc")`. Feed SHA-256,
    for each part, with its length, a colon, the part and a semicolon, in UTF-8; the key is the first 40
    hexadecimal digits.

    >>> len(key_of("source", "f32"))
    40
    >>> key_of("ab", "c") == key_of("a", "bc")
    False
    """
    raise NotImplementedError


# --- core: reach --------------------------------------------------------------------------------------------
def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """How far below and above its first element an array goes: (-elements, elements). Zeros for an empty one.

    A view may run backwards or skip: from its first element to the lowest and to the highest that it
    touches, in elements. `strides` may be negative or 0.

    >>> reach((3, 4), (4, 1)), reach((5,), (-1,)), reach((0, 4), (4, 1))
    ((0, 11), (-4, 0), (0, 0))
    """
    raise NotImplementedError


# --- core: given_names --------------------------------------------------------------------------------------
def given_names(signature: Signature, count: int) -> tuple[str, ...]:
    """The parameters that `count` positional arguments are for.

    `kernel(x, y)` may leave out outputs: if there are no more positional arguments than parameters that are
    not `out`, these are meant; else all parameters in order. `_inputs(signature)` are the parameters that
    are not `out`; `signature.params` are all of them. Give the names of the first `count`.

    >>> from tilelang.semantics.names import resolve
    >>> from tilelang.semantics.signature import signature
    >>> from tilelang.syntax.parsing import parse
    >>> module = parse(Source("kernel k(x: f32[N], out y: f32[N]) grid (1) { }"), Sink())
    >>> found = signature(resolve(module, Sink()), module.kernels[0])
    >>> given_names(found, 1), given_names(found, 2)
    (('x',), ('x', 'y'))
    """
    raise NotImplementedError


# --- core: _converted ---------------------------------------------------------------------------------------
def _converted(value: object) -> Number:
    """A scalar parameter takes a Python number, a NumPy scalar, or an array of rank 0; give back a Python
    `bool`, `int` or `float`. Everything else raises `Refused(code, what, why, help)` with code E0517:
    complex numbers, arrays, texts. The help says what to write, `{x}` being the parameter: `{x}.real` for a
    complex number, `{x}.item()` for what `offers(value, "item")` and has the shape `()` or `(1,)`, `{x}:
    f32[N]` for another array, `{x}=1` for all else. `type(value).__name__` of ml_dtypes' half float is
    `bfloat16`, and it is no `np.floating`.

    >>> _converted(np.float32(1.5)), _converted(np.array(3)), _converted(True)
    (1.5, 3, True)
    """
    raise NotImplementedError


# --- core: configurations -----------------------------------------------------------------------------------
def configurations(choices: Mapping[str, Sequence[Tunable]], first: Config) -> list[dict[str, Tunable]]:
    """Every combination once: `first` if it is one of them, then the others, the last meta changing fastest.

    `choices` has the values of each meta, in the order of the kernel's header: `BM: {64, 128}, warps: {4,
    8}`. Give every combination as a dict, `first` (the default) before all others if it is one of them;
    apart from that the last meta changes fastest.

    >>> configurations({"BM": (64, 128), "warps": (4, 8)}, {"BM": 128, "warps": 4})[:3]
    [{'BM': 128, 'warps': 4}, {'BM': 64, 'warps': 4}, {'BM': 64, 'warps': 8}]
    """
    raise NotImplementedError


# --- core: still_in -----------------------------------------------------------------------------------------
def still_in(samples: Mapping[int, Sequence[float]], slack: float) -> list[int]:
    """Those that are not clearly slower than the leader, the one with the lowest median.

    One fast run is enough: those stay whose fastest run took at most `slack` times the leader's median. `samples` are
    seconds.

    Configurations run in turns, and after each round the clearly slow ones leave. The machine may be busy
    at any moment, which makes runs longer and never shorter. So compare a configuration's fastest run with
    `slack` times the leader's median; the leader is the one whose median is lowest. Give the numbers of
    those that stay, in the order of `samples`.

    >>> still_in({0: [2.0, 2.1, 9.9], 1: [2.3, 5.0, 5.1], 2: [4.0, 4.1, 4.2]}, 1.2)
    [0, 1]
    """
    raise NotImplementedError


# --- hard: meets_itself -------------------------------------------------------------------------------------
def meets_itself(array: Array) -> bool:
    """True if two different indexes name the same byte, or if that could not be decided.

    An output whose elements share memory would depend on who writes last, so it is refused. `array.shape`
    and `array.strides` (in bytes) decide. Axes of extent 1 never move; an array without elements meets
    nobody. Sort the axes by the size of their strides: as long as each steps over everything that the
    smaller ones span, no two elements meet. If one does not: a stride of 0 is certain, and otherwise
    `_some_offsets_are_near(axes, itemsize)` looks at all elements. The size of an element is
    `array.dtype.itemsize`, or `array.dtype.bytes` of a `DeviceArray`.

    >>> row = np.zeros((1, 3))
    >>> meets_itself(row), meets_itself(np.broadcast_to(row, (4, 3)))
    (False, True)
    """
    raise NotImplementedError
