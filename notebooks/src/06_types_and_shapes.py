# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 6: types and shapes
#
# `x[i] + 1` is fine. `x[i] + n` is not, if `x` holds floats and `n` is a whole number. `a + b` is fine for a column of 8
# and a row of 4, and gives 32 sums. For a row of 8 and a row of 4 it is nonsense.
#
# **The question: what can be put together with what, and what comes out?**
#
# Python finds out while it runs, and then it may be hours into a computation. A compiler finds out before. For that it
# gives every expression a **type**: what kind of number, and how many of them in which shape.

# %%
import numpy as np

from course.pictures import draw_broadcast
from tilelang.dtypes import DTYPES
from tilelang.semantics.show import show_types

# %load_ext tilelang.notebook

# %% active="ipynb"
# %%tile
# kernel outer[B = 4](x: f32[M], y: f16[N], out z: f32[M, N]) grid (cdiv(M, B), cdiv(N, B)) {
#     let i = program_id(0) * B +: B;
#     let j = program_id(1) * B +: B;
#     z[i, j] = x[i][:, None] * y[j] + 1;
# }

# %%
stages = outer.compile(np.zeros(10, np.float32), np.zeros(7, np.float16), device="reference")
print(show_types(stages.typed, stages.source))

# %% [markdown]
# That is what this stage knows. `f32[4, 1]` is a tile of 4 rows and 1 column. An arrow is a **conversion** that the checker
# has put in: `y[j]` holds `f16` and meets `f32`, so it is widened.
#
# ## Kinds of numbers

# %%
print(f"{'type':<5} {'kind':<9} {'bytes':>5}   holds")
for dtype in DTYPES.values():
    if dtype.is_integer:
        holds = f"{dtype.min_int:,} to {dtype.max_int:,}"
    elif dtype.is_float:
        holds = f"about {(dtype.mantissa + 1) * np.log10(2):.1f} digits, up to about 2^{2 ** (dtype.exponent - 1)}"
    else:
        holds = "true and false"
    print(f"{dtype.name:<5} {dtype.kind:<9} {dtype.bytes:>5}   {holds}")

# %% [markdown]
# `bf16` and `f16` have the same size. One spends its bits on the range, the other on digits. That is why adding them is
# refused: neither can hold the other's numbers.
#
# The rules are few:
#
# 1. Within a **kind** (signed, unsigned, float), the wider type wins.
# 2. Across kinds nothing is converted. You write `as`.
# 3. A number that is written in the program takes the type of what it meets, **if it fits**.
#
# The first two are two exercises of yours, `wider` and `common_dtype`.

# %%
from itertools import product

from tilelang.dtypes import wider

names = ["i8", "i32", "u8", "u32", "f16", "bf16", "f32"]
print(f"{'':<6}" + "".join(f"{name:<7}" for name in names))
for a in names:
    row = [wider(DTYPES[a], DTYPES[b]) for b in names]
    print(f"{a:<6}" + "".join(f"{str(found) if found else '-':<7}" for found in row))

# %% [markdown]
# Why so strict? Because silent conversions hide mistakes. In NumPy an `int32` and a `float32` give a `float64`, and the
# kernel that should have been fast moves twice the bytes. In C, `-1 < 1u` is false. Here both are errors.

# %% active="ipynb"
# %%tile --wrong
# kernel k(x: f32[N], n: i32, out y: f32[N]) grid (N) {
#     let i = program_id(0);
#     y[i] = x[i] * n;
# }

# %% [markdown]
# ## Numbers that are still free
#
# What type has `1`? In `x[i] + 1` it should be a float, in `i + 1` an integer. So a **literal** has no type until it meets
# something. Then it must fit: an integer exactly, a float up to rounding.

# %% active="ipynb"
# %%tile --wrong
# kernel k(x: u8[N], out y: u8[N]) grid (N) {
#     let i = program_id(0);
#     let a = x[i] + 200;
#     let b = x[i] + 300;
#     let c = x[i] * 0.5;
#     let d = x[i] - -1;
#     y[i] = a + b + c + d;
# }

# %% [markdown]
# Only `a` was good, and each of the others is told why it is not. What a float literal becomes is decided by rounding to
# the nearest number that the type holds. For `f16`, with its three digits, that is visible:

# %%
from tilelang.semantics.rounding import round_float

for value in (0.1, 2049.0, 65519.0, 65520.0, 1e-8):
    print(f"{value:<10} f16 {round_float(value, DTYPES['f16'])!s:<24} bf16 {round_float(value, DTYPES['bf16'])}")

# %% [markdown]
# ## Shapes
#
# Two tiles are combined element by element. If their shapes differ, NumPy's rule of **broadcasting** applies:
#
# - write the shapes below each other, aligned on the **right**;
# - an axis that is missing counts as 1;
# - an extent of 1 is stretched to the other's; else they must be equal.

# %%
from tilelang.semantics.broadcasting import broadcast_shapes

draw_broadcast((4, 1), (5,), broadcast_shapes((4, 1), (5,)))

# %% [markdown]
# The faint cells are not stored anywhere. The same number is used again.

# %%
draw_broadcast((3, 4), (4,), broadcast_shapes((3, 4), (4,)))

# %%
for a, b in product([(4,), (4, 1), (1, 4), (2, 4)], [(4,), (2, 1), (3,)]):
    print(f"{a!s:<8} and {b!s:<8} -> {broadcast_shapes(a, b)}")

# %% [markdown]
# A row can be added to a matrix just so. For a column one must say that it is one: `v[:, None]` gives a tile of shape
# `[4]` the shape `[4, 1]`. Forgetting it is the most common mistake of all, so the message suggests it.

# %% active="ipynb"
# %%tile --wrong
# kernel k(x: f32[8, 4], s: f32[8], out y: f32[8, 4]) grid (1) {
#     let i = 0 +: 8;
#     let j = 0 +: 4;
#     y[i, j] = x[i, j] * s[i];
# }

# %% [markdown]
# ## Sizes that are not known yet
#
# A tile's shape must be known when the kernel is compiled, and the length of an array is not. `N` is a **dim**: a whole
# number that each call brings along. `BLOCK` is a **meta**: a number known at compile time, for which the kernel is
# compiled anew if it changes. Binding all metas is called **specialising**.

# %% active="ipynb"
# %%tile
# kernel total[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M]) grid (M) {
#     let row = program_id(0);
#     y[row] = sum(x[row, 0 +: BLOCK], axis=0);
# }

# %%
for columns in (100, 128, 1000):
    typed = total.compile(np.zeros((3, columns), np.float32), device="reference").typed
    print(f"N = {columns:>4}: BLOCK = {typed.metas['BLOCK']}")

# %% [markdown]
# Can a kernel be checked before any array is there? Yes, with sizes as symbols. If two extents could be equal they are
# taken to be so; only what is wrong for every size is an error. `%%tile` and `tilec check` do that. What remains is
# checked at the call:

# %% active="ipynb"
# %%tile --wrong join(np.zeros((3, 100), np.float32), np.zeros((3, 200), np.float32))
# kernel join[A = next_pow2(N), B = next_pow2(K)](x: f32[M, N], y: f32[M, K], out z: f32[M]) grid (M) {
#     let row = program_id(0);
#     z[row] = sum(x[row, 0 +: A] + y[row, 0 +: B], axis=0);
# }

# %% [markdown]
# ## Matrix products
#
# `dot(a, b)` has a rule of its own: the columns of `a` are the rows of `b`. And its result is wider than its operands.
# Many small numbers make a large sum, so products of `f16` are added up in `f32`.

# %% active="ipynb"
# %%tile --wrong
# kernel k(a: f16[16, 32], b: f16[16, 8], out c: f32[16, 8]) grid (1) {
#     let i = 0 +: 16;
#     let k = 0 +: 32;
#     let j = 0 +: 8;
#     c[i, j] = dot(a[i, k], b[i, j]);
# }

# %% [markdown]
# ## Change it
#
# 1. In `outer`, leave out `[:, None]`. Is it an error? For which `B` would it not be?
# 2. Which literals fit `i8`? Try `127`, `128`, `-128`, `1.0`.
# 3. Make `x` in `outer` a `bf16` array. Who complains?
# 4. `wider` says `-` for `i32` and `u32`. Which type could hold both, and why is it not chosen?
#
# ## Exercises
#
# Write the functions in [`course/ch06_types_and_shapes/exercise.py`](../course/ch06_types_and_shapes/exercise.py), then
# run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch06")

# %%
import course
import tilelang

with course.installed("ch06") as mine:
    print(mine)
    program = tilelang.load("../course/kernels/softmax.tile")
    program["softmax"](np.ones((3, 5), np.float32), device="reference")

# %% [markdown]
# ## In short
#
# - A **type** here is an element type and a shape.
# - Within a **kind** the wider type wins; across kinds nothing is converted without `as`.
# - A **literal** is free until it meets a typed operand, and then must fit.
# - **Broadcasting** aligns shapes on the right and stretches extents of 1.
# - A **dim** is known at launch, a **meta** at compile time. To bind all metas is to **specialise**.
# - The result is a **typed tree**, in which every conversion is written down.
#
# **Where this differs from the real thing.** Triton's rules are close to PyTorch's: an `int32` and a `float16` give a
# `float16`, and a Python number is converted to whatever it meets. Triton's tiles must have extents that are powers of
# two. General languages have types for functions and structures, infer them over whole programs (ML, Haskell, Rust), and
# let the programmer define new ones; the sizes in a type are seldom part of it.
#
# ## Further reading
#
# - B. Pierce, *Types and Programming Languages*, MIT Press, 2002, chapters 8 and 9.
# - NumPy, [*Broadcasting*](https://numpy.org/doc/stable/user/basics.broadcasting.html), and NEP 50,
#   [*Promotion rules for Python scalars*](https://numpy.org/neps/nep-0050-scalar-promotion.html).
# - IEEE 754-2019, *Standard for Floating-Point Arithmetic*; D. Goldberg, *What every computer scientist should know about
#   floating-point arithmetic*, ACM Computing Surveys 23(1), 1991.
# - D. Kalamkar and others, [*A study of BFLOAT16 for deep learning training*](https://arxiv.org/abs/1905.12322), 2019.
#
# Next: [chapter 7, tile IR](07_tile_ir.ipynb). A program in simple steps.
