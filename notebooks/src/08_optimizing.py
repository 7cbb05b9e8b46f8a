# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 8: optimizing
#
# `x * 1` is `x`. `x * 0` is 0, and `x - x` is 0, and `x + 0` is `x`. Of these four only one is true of the numbers in a
# computer.
#
# **The question: how can a program do less work, and still give the same result to the last bit?**
#
# A **pass** takes a kernel and gives a kernel that means the same. This chapter goes through six of them. For each
# it asks two things: what does it do, and what must it leave alone? The second is the harder one.

# %%
import numpy as np

from course.pictures import draw_pass
from tilelang.ir.interpreter import interpret
from tilelang.passes import PASSES, optimize
from tilelang.passes.bounds import bounds, value_ranges
from tilelang.passes.cse import cse
from tilelang.passes.dce import dce
from tilelang.passes.fold import fold
from tilelang.passes.licm import licm
from tilelang.passes.masks import masks

# %load_ext tilelang.notebook
x = np.random.default_rng(0).standard_normal((6, 100)).astype(np.float32)


def ir(kernel, *arrays, **metas):
    """The tile IR of a kernel before any pass."""
    return kernel.compile(*arrays, device="reference", **metas).tile_ir


# %% [markdown]
# ## Fold: compute it now
#
# If all operands are known numbers, the result is known. And some operations do nothing, whatever the other operand is.

# %% active="ipynb"
# %%tile
# const SCALE = 0.5;
# kernel folds(x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row = program_id(0);
#     let i   = 0 +: 4 * 32;
#     y[row, i] = x[row, i] * (SCALE * 4.0) / 2.0 * 1.0;
# }

# %%
draw_pass(ir(folds, x), fold(ir(folds, x)), "after fold")

# %% [markdown]
# Back to the four rules. With floats `0 * x` is not 0 if `x` is infinite or not a number; `x - x` neither. And `x + 0`?
# There is a negative zero, and -0 + 0 is +0:

# %%
values = np.array([1.5, -0.0, np.inf, np.nan], np.float32)
with np.errstate(invalid="ignore"):
    print("x        ", values)
    print("x * 1    ", values * 1)
    print("x * 0    ", values * 0)
    print("x - x    ", values - values)
    print("x + 0    ", values + 0)
    print("x - 0    ", values - 0)

# %% [markdown]
# Only `x * 1` (and `x - 0`) gives `x` back for each. So the pass uses those, and refuses the others. For integers all of them
# hold. The exercise `is_neutral` is this decision. Some compilers have a switch, often called *fast math*, that allows the
# rest; then a program may give one result today and another after an update of the compiler.
#
# ## CSE: do it once
#
# **Common subexpressions**: if the same op with the same operands is there already, use its result.

# %% active="ipynb"
# %%tile
# kernel twice(x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row = program_id(0);
#     let i   = 0 +: 128;
#     y[row, i] = exp(x[row, i]) + 1.0 / exp(x[row, i]);
# }

# %%
draw_pass(fold(ir(twice, x)), cse(fold(ir(twice, x))), "after cse")

# %% [markdown]
# Even the second `load` is gone: the data are read once. When is that wrong? If something was written in between.

# %% active="ipynb"
# %%tile
# kernel between(inout x: f32[M, N]) grid (M) {
#     let row = program_id(0);
#     let i   = 0 +: 128;
#     let old = x[row, i];
#     x[row, i] = old * 2.0;
#     x[row, i] = x[row, i] + old;
# }

# %%
draw_pass(fold(ir(between, x)), cse(fold(ir(between, x))), "after cse: both loads stay")

# %% [markdown]
# ## LICM: not in every trip
#
# **Loop-invariant code motion**: what is the same in every trip of a loop is computed before it.

# %% active="ipynb"
# %%tile
# kernel smooth(x: f32[M, N], w: f32[N], out y: f32[M, N]) grid (M) {
#     let row = program_id(0);
#     let i   = 0 +: 128;
#     var v   = x[row, i];
#     for k in range(0, 5) {
#         v = v * exp(w[i]);
#     }
#     y[row, i] = v;
# }

# %%
weights = np.linspace(-1, 0, 100).astype(np.float32)
cleaned = cse(fold(ir(smooth, x, weights)))
draw_pass(cleaned, licm(cleaned), "after licm")

# %% [markdown]
# One `load` and one `exp` in place of five each. What if the loop makes no trip at all? Then they are done for nothing, but no
# harm is done: in this language no pure op can fail. In C a division could not be moved so lightly.
#
# ## Bounds: prove it
#
# No program may touch memory outside its arrays. So each access is **checked**, along each axis. That costs instructions
# for each element, and most checks can never fail. To see which, the pass computes for every whole number the **range** in
# which it lies.

# %% active="ipynb"
# %%tile
# kernel blocks[B = 32](x: f32[M, 64], out y: f32[M, 64]) grid (M, 2) {
#     let row = program_id(0);
#     let i   = program_id(1) * B +: B;
#     y[row, i] = x[row, i] + 1.0;
# }

# %%
wide = np.zeros((6, 64), np.float32)
cleaned = cse(fold(ir(blocks, wide)))
for name, known in value_ranges(cleaned).items():
    limits = ", ".join(f"< {dim} + {offset + 1}" if offset != -1 else f"< {dim}" for dim, offset in known.limits.items())
    print(f"%{name:<10} {known.lo} to {known.hi:,} {limits}")

# %%
draw_pass(cleaned, bounds(cleaned), "after bounds")

# %% [markdown]
# `row` is below `M`, because the grid has `M` programs along that axis. Both checks are proved, and go. Where the last tile
# reaches past the end they must stay, and they do: look at `checked` in the first pictures.
#
# Interval arithmetic is easy for `+`. For `*` think of signs: the product of [-2, 3] and [-5, 1] lies in [-15, 10]. That is
# your exercise `_mul`.
#
# ## Masks: ask once
#
# People who know other languages guard their loads by hand. Here the bounds check does it already, so the mask says nothing
# new.

# %% active="ipynb"
# %%tile
# kernel guarded[B = 128](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {
#     let i = program_id(0) * B +: B;
#     y[i] = x[i] where i < N;
# }

# %%
cleaned = bounds(licm(cse(fold(ir(guarded, x[0])))))
draw_pass(cleaned, masks(cleaned), "after masks")

# %% [markdown]
# ## DCE: drop the rest
#
# **Dead code** is what neither reaches memory nor a message. The pass starts from the ops with an effect, marks what they
# need, and what that needs, and drops what has no mark. In the last picture the comparison is left over, and nobody wants
# it:

# %%
draw_pass(masks(cleaned), dce(masks(cleaned)), "after dce")

# %% [markdown]
# ## In which order?
#
# Passes help one another. After folding, two constants are the same, and CSE can share them; after the masks went, something
# is dead. The order is a tuple with reasons, in [`tilelang/passes/__init__.py`](../tilelang/passes/__init__.py), and it is
# gone through until nothing changes.

# %%
def count(kernel):
    return len(list(kernel.walk()))


kernel = ir(smooth, x, weights)
print("ops before", count(kernel))
optimize(kernel, observe=lambda name, made: print(f"  after {name:<7} {count(made)}"))
print("the passes:", ", ".join(name for name, _ in PASSES))

# %% [markdown]
# One more stands in the tuple, `reciprocals`. It makes `divide(v, s, approx=true)` a multiplication by `1 / s`, which the others
# then share and move out of loops. It is the only pass that may change the last bits, and only where the program says so: `v / s`
# it leaves alone.
#
# ## Is it still the same?
#
# After each pass the verifier runs. That says that the kernel is well formed, not that it means the same. For that we run
# it before and after, on the interpreter, with numbers that are likely to show a difference.

# %%
odd = x.copy()
odd[0, :6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e38]
for kernel, arrays in ((folds, (odd,)), (twice, (odd,)), (smooth, (odd, weights))):
    before, results = ir(kernel, *arrays), []
    for made in (before, optimize(before)):
        out = np.zeros_like(odd)
        given = {param.name: array for param, array in zip(before.params, (*arrays, out), strict=True)}
        with np.errstate(all="ignore"):
            interpret(made, given, {"M": 6, "N": 100}, (6,))
        results.append(out.tobytes())
    print(f"{before.name:<8} {count(before):>2} ops become {count(optimize(before)):>2}; same bits: {results[0] == results[1]}")

# %% [markdown]
# The compiler's own tests do this with thousands of random kernels.
#
# ## Change it
#
# 1. In `folds`, replace `* 1.0` by `+ 0.0`. Does it stay? And `- 0.0`?
# 2. In `between`, let the second store go to another tensor. Is the second load shared now?
# 3. In `smooth`, put `if k > 2 { ... }` around the body. Does `exp` still leave the loop? Should it?
# 4. In `blocks`, make the grid `(M, 3)`. Which check comes back?
#
# ## Exercises
#
# Write the functions in [`course/ch08_optimizing/exercise.py`](../course/ch08_optimizing/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch08")

# %%
import course
import tilelang

with course.installed("ch08") as mine:
    print(mine)
    program = tilelang.load("../course/kernels/softmax.tile")
    program["softmax"](np.ones((3, 5), np.float32), device="reference")

# %% [markdown]
# ## In short
#
# - A **pass** takes a kernel and gives one that means the same.
# - **Folding** computes what is known. Floats obey fewer laws than numbers do: -0, infinity and NaN.
# - **CSE** shares equal ops, if no write stands between. **LICM** moves what does not change out of loops.
# - **Range analysis** proves that an index is inside, and a check can go.
# - **DCE** drops what has no effect and is not used.
# - Check a pass by running before and after, on the numbers that hurt.
#
# **Where this differs from the real thing.** LLVM has about a hundred passes of this kind, and runs some of them ten times.
# Triton leaves most of the scalar work to MLIR and LLVM, and has passes of its own for what only it knows: layouts, memory
# and pipelining. It has no bounds checks: a kernel's author writes the masks, and a forgotten one reads or writes memory
# that belongs to somebody else.
#
# ## Further reading
#
# - A. Aho, M. Lam, R. Sethi, J. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition, 2006, chapter 9.
# - J. Cocke, *Global common subexpression elimination*, SIGPLAN Notices 5(7), 1970.
# - W. Harrison, *Compiler analysis of the value ranges for variables*, IEEE TSE 3(3), 1977.
# - D. Monniaux, *The pitfalls of verifying floating-point computations*, ACM TOPLAS 30(3), 2008.
# - X. Yang and others, *Finding and understanding bugs in C compilers*, PLDI 2011: how to test a compiler at random.
#
# Next: [chapter 9, tiling](09_tiling.ipynb). From tiles to threads.
