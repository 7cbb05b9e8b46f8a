"""Random inputs for every puzzle: a generator of random numbers and the dims to arrays and numbers, by parameter."""

from __future__ import annotations

import numpy as np

from course.puzzles.specs import Array

Inputs = dict[str, Array | float]


def randn(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def number(rng: np.random.Generator) -> float:
    """One that f32 holds exactly."""
    return float(np.float32(rng.standard_normal()))


def vector(rng: np.random.Generator, N: int) -> Inputs:
    return {"x": randn(rng, N)}


def vector_and_two_numbers(rng: np.random.Generator, N: int) -> Inputs:
    return {**vector(rng, N), "a": number(rng), "b": number(rng)}


def matrix(rng: np.random.Generator, M: int, N: int) -> Inputs:
    return {"x": randn(rng, M, N)}


def negative_matrix(rng: np.random.Generator, M: int, N: int) -> Inputs:
    """Hardly an element above 0, so that a 0 that does not belong there would win a maximum."""
    return {"x": randn(rng, M, N) - np.float32(5)}


def two_vectors(rng: np.random.Generator, M: int, N: int) -> Inputs:
    return {"x": randn(rng, M), "y": randn(rng, N)}


def matrix_and_row(rng: np.random.Generator, M: int, N: int) -> Inputs:
    return {"x": randn(rng, M, N), "y": randn(rng, N)}


def forward_and_gradient(rng: np.random.Generator, M: int, N: int) -> Inputs:
    return {**matrix_and_row(rng, M, N), "dz": randn(rng, M, N)}


def signal_and_filter(rng: np.random.Generator, N: int, T: int) -> Inputs:
    return {"x": randn(rng, N), "w": randn(rng, T)}


def image_and_filter(rng: np.random.Generator, H: int, W: int, S: int, T: int) -> Inputs:
    return {"x": randn(rng, H, W), "w": randn(rng, S, T)}


def factors(rng: np.random.Generator, M: int, N: int, K: int) -> Inputs:
    return {"a": randn(rng, M, K), "b": randn(rng, K, N)}


def batched_factors(rng: np.random.Generator, B: int, M: int, N: int, K: int) -> Inputs:
    return {"a": randn(rng, B, M, K), "b": randn(rng, B, K, N)}


def counted(rng: np.random.Generator, N: int, B: int) -> Inputs:
    """Most elements are bins; some are negative or too large."""
    return {"x": rng.integers(-2, B + 2, N, np.int32), "counts": rng.integers(0, 100, B, np.int32)}


def table_and_ids(rng: np.random.Generator, N: int, V: int, D: int) -> Inputs:
    return {"table": randn(rng, V, D), "ids": rng.integers(0, V, N, np.int32)}


def rows_and_weights(rng: np.random.Generator, M: int, N: int) -> Inputs:
    return {"x": randn(rng, M, N) * np.float32(3), "w": randn(rng, N), "eps": 0.01}


def points_and_angles(rng: np.random.Generator, M: int, H: int) -> Inputs:
    angle = rng.uniform(-4, 4, (M, H))
    return {"c": np.cos(angle).astype(np.float32), "s": np.sin(angle).astype(np.float32), "x": randn(rng, M, 2 * H)}


def scores_and_labels(rng: np.random.Generator, M: int, N: int) -> Inputs:
    return {"x": randn(rng, M, N), "label": rng.integers(0, N, M, np.int32)}


def queries(rng: np.random.Generator, M: int, N: int, D: int) -> Inputs:
    return {"q": randn(rng, M, D) * np.float32(2), "k": randn(rng, N, D), "v": randn(rng, N, D)}


def byte_weights(rng: np.random.Generator, M: int, N: int, K: int) -> Inputs:
    return {"a": randn(rng, M, K), "w": rng.integers(-128, 128, (K, N), np.int8), "scale": randn(rng, N)}


def packed_weights(rng: np.random.Generator, M: int, N: int, H: int) -> Inputs:
    return {"w": rng.integers(0, 256, (H, N), np.uint8), "a": randn(rng, M, 2 * H), "scale": randn(rng, N)}
