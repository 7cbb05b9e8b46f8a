"""Outputs must lie apart: exact for strided views, against a brute-force check of all addresses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from tests.runtime.lenders import OnGpu
from tilelang.runtime.arrays import as_array
from tilelang.runtime.overlap import meets_itself, share_an_element

X = np.zeros((6, 8), np.float32)


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (X, X, True),
        (X, X.T, True),
        (X, X[::-1], True),
        (X[:3], X[3:], False),
        (X[:4], X[3:], True),
        (X[::2], X[1::2], False),
        (X[:, ::2], X[:, 1::2], False),
        (X[:, ::2], X[:, ::3], True),
        (X[:0], X, False),
        (X[:, :4], X[:, 4:], False),
        (X.view(np.uint8)[:, 3], X.view(np.uint8)[:, 4], False),
        (X.view(np.uint8)[:, 3], X[:, 0], True),
        (X.copy(), X, False),
    ],
)
def test_sharing(a: np.ndarray, b: np.ndarray, expected: bool) -> None:
    assert share_an_element(a, b) is expected
    assert share_an_element(b, a) is expected


@pytest.mark.parametrize(
    "array, expected",
    [
        (X, False),
        (X.T, False),
        (X[::-1, ::-3], False),
        (np.broadcast_to(X[0], (3, 8)), True),
        (X[:0], False),
        (np.broadcast_to(X[:1], (1, 1, 8)), False),
        (np.broadcast_to(X, (0, 6, 8)), False),
        (X[0, :0], False),
        (as_strided(X, (4, 4), (4, 4)), True),  # a sliding window
        (as_strided(X, (2, 3), (12, 8)), False),  # interleaved, yet apart: offsets 0 8 16, 12 20 28
        (as_strided(X, (2, 3), (16, 8)), True),  # 16 twice
        (as_strided(X, (3,), (2,)), True),  # half an element on
        (X[0, 0].reshape(()), False),
    ],
)
def test_meeting_itself(array: np.ndarray, expected: bool) -> None:
    assert meets_itself(array) is expected


def bytes_of(array: np.ndarray) -> np.ndarray:
    """The address of every byte of every element, brute force."""
    start = array.__array_interface__["data"][0]
    offsets = np.zeros((), np.int64)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        offsets = np.add.outer(offsets, np.arange(extent) * stride)
    return (start + offsets[..., None] + np.arange(array.itemsize)).ravel()


views = st.builds(
    lambda start, shape, strides: as_strided(
        np.zeros(400, np.int16)[100 + start :], shape, [2 * s for s in strides[: len(shape)]]
    ),
    st.integers(0, 20),
    st.lists(st.integers(0, 4), min_size=0, max_size=3),
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
)


@settings(max_examples=300, deadline=None)
@given(views)
def test_meeting_itself_is_exact(array: np.ndarray) -> None:
    addresses = bytes_of(array)
    assert meets_itself(array) == (len(np.unique(addresses)) < len(addresses))


BASE = np.zeros(400, np.int16)
pairs = st.tuples(
    *[
        st.tuples(
            st.integers(0, 20),
            st.lists(st.integers(0, 4), max_size=3),
            st.lists(st.integers(-9, 9), min_size=3, max_size=3),
        )
    ]
    * 2
)


@settings(max_examples=300, deadline=None)
@given(pairs)
def test_sharing_is_exact(pair: tuple) -> None:
    a, b = (as_strided(BASE[150 + s :], shape, [2 * x for x in strides[: len(shape)]]) for s, shape, strides in pair)
    assert share_an_element(a, b) == bool(np.intersect1d(bytes_of(a), bytes_of(b)).size)


def test_what_cannot_be_decided_counts_as_sharing() -> None:
    huge = as_strided(np.zeros(1, np.int8), (1 << 12, 1 << 12), (4099, 4093))
    assert meets_itself(huge)


def test_gpu_arrays_are_compared_by_address_only() -> None:
    a, b, c = (as_array(OnGpu((4, 4), address=0x10000 + shift)) for shift in (0, 32, 64))
    assert share_an_element(a, b) and not share_an_element(a, c)
    assert not share_an_element(a, X)
    assert meets_itself(as_array(OnGpu((4, 4), strides=(0, 4))))
