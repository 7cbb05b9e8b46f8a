# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 0: a tour
#
# You write five lines that describe a softmax. A second later a processor runs machine code that nobody wrote.
#
# **The question of this course: what happened in between, and could you write that yourself?**
#
# The answer is a compiler. This one is small enough to read: every stage is a plain Python function that takes data
# and returns data, and you can print what is between any two of them. In this chapter one program goes through all of
# them. You need not understand every line of what you see. The point is to know the road; each later chapter walks
# one part of it slowly, and lets you write that part yourself.
#
# You need Python. You need no GPU, and no knowledge of compilers.

# %% [markdown]
# ## Is everything here?
#
# Run each cell with Shift+Enter, from top to bottom. This one loads the course and says what it found.

# %%
import sys

import numpy as np

import tilelang

# %load_ext tilelang.notebook
print("Python", sys.version.split()[0])
print("devices here:", ", ".join(tilelang.device_names()))

# %% [markdown]
# If this failed, install the course from its top folder with `pip install -e '.[notebooks]'` and restart the
# notebook's kernel. In a terminal, `tilec doctor` says more about your machine.

# %% [markdown]
# ## The program
#
# A *softmax* turns a row of numbers into shares that add up to 1: the exponential of each number, divided by the sum
# of them all. With NumPy it is five operations on whole arrays. The row's maximum is subtracted first, so that `exp`
# cannot overflow; the shares stay the same.

# %%
def numpy_softmax(x):
    largest = x.max(axis=1, keepdims=True)
    shifted = x - largest
    powers = np.exp(shifted)
    total = powers.sum(axis=1, keepdims=True)
    return powers / total


x = np.random.default_rng(0).standard_normal((150, 1000)).astype(np.float32)
expected = numpy_softmax(x)
expected.sum(axis=1)[:5]

# %% [markdown]
# Here is the same in the *tile language*. You write it from the point of view of one **program**. There are as many
# programs as the **grid** says, here one for each row. A program works on a **tile**, a small block of an array, here
# a row of `BLOCK` elements.
#
# A cell that begins with `%%tile` holds a program of this language. What stands behind `%%tile` is Python that is run
# with it.

# %% active="ipynb"
# %%tile y = softmax(x)
# kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row  = program_id(0);             # which program am I? 0, 1, ... M-1
#     let cols = 0 +: BLOCK;                # the column numbers 0, 1, ... BLOCK-1
#     let v    = x[row, cols] else -inf;    # read a row; outside the array, -inf
#     let e    = exp(v - max(v, axis=0));
#     y[row, cols] = e / sum(e, axis=0);    # write a row; outside, nothing
# }

# %%
print("largest difference from NumPy:", abs(y - expected).max())

# %% [markdown]
# It agrees. You never said which thread does what, what is kept in which memory, or where threads have to wait for
# each other. The compiler decides that, and now we look at how.

# %% [markdown]
# ## The road
#
# Each box is what one stage makes. The road goes one way: no stage looks at what comes after it.

# %%
from course.pictures import draw_road, linked

draw_road()

# %% [markdown]
# The stages are a tuple in [`tilelang/driver.py`](../tilelang/driver.py), and that is the whole of the compiler's
# organisation. For the tour we compile for a data centre GPU, an A100, which NVIDIA calls `sm_80`. It need not be
# there to compile for it.

# %%
stages = softmax.compile(x, target="sm_80")
for name, seconds in stages.seconds:
    print(f"{name:<10} {1000 * seconds:7.1f} ms")

# %% [markdown]
# (In its first run a stage also has to load its modules. The first one loads the grammar.)
#
# ### 1. Tokens
#
# Text is a row of characters. The *lexer* cuts it into words, called **tokens**, and throws blanks and comments away.
# Each token remembers where it stood, so that every later stage can point at your text.

# %%
from tilelang.syntax.printing import show_tokens

listing = show_tokens(stages.tokens, stages.source).split("\n")
print("line:column, kind, text\n" + "\n".join(line for line in listing if line.startswith("5:")))

# %% [markdown]
# ### 2. A tree
#
# The *parser* finds out what belongs to what. In `v - max(v, axis=0)` the subtraction has two parts, and the second is
# a call. The result is the **abstract syntax tree**. This is its part for the line `let e = ...`. The brackets and the
# semicolon are gone: they said what belongs together, and now the tree says it.

# %%
from course.pictures import draw_tree, syntax_tree

let_e = stages.module.kernels[0].body.body[3]
draw_tree(syntax_tree(let_e), "let e = exp(v - max(v, axis=0));")

# %% [markdown]
# ### 3. Names and types
#
# The tree is only shape. Now the compiler works out what each name stands for, and of what **type** each expression
# is: which kind of number, and how large a tile. `N` is 1000 in our array, so `BLOCK`, the next power of two, is 1024.
#
# This is also where most mistakes are found. The next cell is wrong on purpose (`--wrong` tells the notebook so): it
# mistypes a name, and it uses the length of a row, a whole number, as if it were a float.

# %% active="ipynb"
# %%tile --wrong average(x)
# kernel average[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M]) grid (M) {
#     let row = program_id(0);
#     let v   = x[row, 0 +: BLOCK];
#     y[row]  = sum(V, axis=0) / N;
# }

# %% [markdown]
# A message has a code, the place, what is wrong, and where possible what would mend it. Names are looked up before
# types, so the second mistake shows when the first is mended:

# %% active="ipynb"
# %%tile --wrong average(x)
# kernel average[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M]) grid (M) {
#     let row = program_id(0);
#     let v   = x[row, 0 +: BLOCK];
#     y[row]  = sum(v, axis=0) / N;
# }

# %% [markdown]
# ### 4. Tile IR
#
# IR is short for **intermediate representation**: the form in which the compiler thinks about the program. It is a list
# of simple steps. Each step does one thing and gives its result a new name, which never changes (`%v`, `%e`, …). Beside
# each name stands its type: `f32[1024]` is a tile of 1024 floats.

# %%
stages.tile_ir

# %% [markdown]
# ### 5. Better tile IR
#
# *Passes* rewrite the IR into IR that does the same with less work. Our kernel is short, so there is little to find, but
# look at `checked` in the `load`: it says for each axis whether the index could be outside the array. The compiler has proved that `row` never is, because there
# are exactly `M` programs, and has removed that check.

# %%
import difflib

from tilelang.ir.printer import print_kernel

before, after = (print_kernel(kernel).split("\n") for kernel in (stages.tile_ir, stages.optimized))
changes = difflib.unified_diff(before, after, n=0, lineterm="")
print("\n".join(line for line in changes if line[:2] not in ("--", "++", "@@")))

# %% [markdown]
# ### 6. Thread IR
#
# So far a step worked on a whole tile. A GPU has no such instruction. It has **threads**, each with a few numbers of
# its own in **registers**. So the compiler deals out the elements of a tile to the threads. The rule for that is a
# **layout**. For a picture that fits on the page, here is one for 24 elements in 8 threads:

# %%
from tilelang.tiling.layout import LinearLayout

LinearLayout(shape=(24,), threads=8)

# %% [markdown]
# Neighbouring threads hold neighbouring elements. Chapter 10 shows why that matters for the speed of memory.
#
# Where threads need each other's numbers, as in `max` and `sum`, the compiler lets them exchange some. 32 threads that
# run in step, a *warp*, can hand numbers to one another directly, in a *shuffle*. Beyond that they write into a memory
# that they share, and at a **barrier** all wait for all. The steps of one thread are many:

# %%
from collections import Counter

steps = Counter(op.name for op in stages.thread_ir.walk())
print(len(list(stages.optimized.walk())), "steps on tiles became", steps.total(), "steps for each of",
      stages.thread_ir.attrs["threads"], "threads; among them")
print(", ".join(f"{steps[name]} {name}" for name in sorted(steps)
                if name.startswith(("barrier", "exp", "global", "shared", "shuffle"))))

# %% [markdown]
# ### 7. Code
#
# The last stage writes the steps down in a language that somebody else compiles to machine code. For NVIDIA's GPUs
# that is Python for [numba.cuda](https://nvidia.github.io/numba-cuda/). In the picture, what comes from one line of
# your program has one colour, all the way from left to right.

# %%
linked(stages, "optimized", "cuda")

# %% [markdown]
# For the CPU in your computer the compiler takes a shorter way. There are no 128 threads there that run side by side,
# so it turns tiles into loops. The code below is what ran when you called `softmax(x)` above.

# %%
linked(softmax.compile(x, device="cpu"), "optimized", "cpu")

# %% [markdown]
# ## Do all ways give the same?
#
# You can run a program at several points of the road. `reference` interprets the tile IR in NumPy, step by step; it is
# slow and plain, and it is what all others are held against. `cpu` is the generated code. `model` runs the thread IR,
# all threads of all programs at once, on a model of a GPU that also watches for mistakes in the use of shared memory.

# %%
for device in ("reference", "cpu", "model"):
    print(f"{device:<10} largest difference from NumPy {abs(softmax(x, device=device) - expected).max():.1e}")

# %% [markdown]
# The last digits may differ, since sums are taken in different orders. By how much at most, the compiler's tests say.

# %% [markdown]
# ## Is it any good?
#
# The model counts what the threads ask of the memory. From that and the data sheet of a GPU follows how long the
# kernel takes **at least**. Beside it stands the same softmax as NumPy does it, one array operation after another.

# %%
from tilelang.machine.gpus import GPUS
from tilelang.machine.profile import profile

large = np.random.default_rng(1).standard_normal((4096, 1024)).astype(np.float32)
launch = softmax.prepare(large, device="model")
compiled = softmax.compile(large, target="sm_80")
report = profile(compiled.thread_ir, compiled.optimized, GPUS["a100"], launch.arguments, launch.dims, launch.grid,
                 compiled.source)
report

# %%
ratio = report.eager.bytes / report.traffic.total
print(f"one kernel for everything moves {report.traffic.total / 1e6:.1f} MB, "
      f"one for each operation {report.eager.bytes / 1e6:.1f} MB: {ratio:.1f} times as much")

# %% [markdown]
# The kernel reads each number once and writes each result once, and less is impossible. This ratio is the reason that
# languages like this one exist. Chapter 1 takes it apart.
#
# In a terminal the same is `tilec profile course/kernels/softmax.tile M=4096 N=1024`.

# %% [markdown]
# ## Change it
#
# Go back to the cell with the softmax, and try one change at a time:
#
# 1. Take out `- max(v, axis=0)` and call it with `softmax(100 * x)`. What comes out, and why?
# 2. Replace `else -inf` by `else 0.0`. Rows of 1000 are now wrong. Would rows of 1024 be?
# 3. Write `softmx` behind `%%tile`, then `summ` in the kernel. Who finds which mistake?
# 4. Write `softmax(x, BLOCK=512)`. What does the program do with the rest of each row?
#
# The next cell shows the second one. The sum of each row should be 1.

# %% active="ipynb"
# %%tile print(careless(x).sum(axis=1)[:4])
# kernel careless[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row  = program_id(0);
#     let cols = 0 +: BLOCK;
#     let v    = x[row, cols] else 0.0;     # 24 zeros beside 1000 numbers
#     let e    = exp(v - max(v, axis=0));
#     y[row, cols] = e / sum(e, axis=0);
# }

# %% [markdown]
# ## Where things are
#
# | stage | folder | chapter |
# | --- | --- | --- |
# | the stages in order | [`tilelang/driver.py`](../tilelang/driver.py) | 0 |
# | tokens, tree | [`tilelang/syntax`](../tilelang/syntax), [`grammar`](../grammar) | 2, 3, 4 |
# | names, types, shapes | [`tilelang/semantics`](../tilelang/semantics) | 5, 6 |
# | tile IR | [`tilelang/ir`](../tilelang/ir) | 7 |
# | better tile IR | [`tilelang/passes`](../tilelang/passes) | 8 |
# | threads and layouts | [`tilelang/tiling`](../tilelang/tiling) | 9 |
# | shared memory, barriers | [`tilelang/memory`](../tilelang/memory) | 10 |
# | the model of a GPU | [`tilelang/machine`](../tilelang/machine) | 1, 10 |
# | GPU and CPU code | [`tilelang/codegen`](../tilelang/codegen) | 11 |
# | launching, tuning | [`tilelang/runtime`](../tilelang/runtime) | 12 |
#
# Chapters 3 to 12 have exercises, in `course/chNN_name/exercise.py`. Each is a function of this compiler with its body
# taken out. You write it, a grader checks it, and then the compiler can run with yours in place of its own. The kernels
# in [`course/kernels`](../course/kernels) are ready to run, and to read.

# %% [markdown]
# ## Your turn
#
# A first kernel. Fill in the line with the dots: each row of `y` should be the row of `x` with its average taken off.
# `sum(v, axis=0)` adds up a tile, and `N as f32` makes a float of a whole number. Why do the columns outside the array
# do no harm to the sum here?

# %% active="ipynb"
# %%tile
# kernel centre[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row  = program_id(0);
#     let cols = 0 +: BLOCK;
#     let v    = x[row, cols] else 0.0;
#     y[row, cols] = v;                     # ...
# }

# %%
from course.checking_cells import check_array

check_array("centre", centre(x), x - x.mean(axis=1, keepdims=True))

# %% [markdown]
# ## In short
#
# - A **compiler** is a row of functions. Each takes the program in one form and returns it in another.
# - **Tokens** are words, the **syntax tree** is what belongs to what, **types** say what each value is.
# - An **IR** is a program in simple steps. **Passes** make it do less work.
# - A **tile** is a block of an array; a **program** works on tiles; the **grid** is all programs of a launch.
# - A **layout** says which thread holds which element. A **barrier** is where threads wait for each other.
# - A **kernel** is a function that runs on many programs at once.
#
# **Where this differs from the real thing.** Triton, the language that inspired this one, is embedded in Python: its
# kernels are Python functions, its own parser is Python's, and its IR lives in MLIR and ends in LLVM and PTX. Here every
# stage is Python, and the last step is left to numba. Production compilers have hundreds of passes where this has a
# handful, and they spend most of their code on special cases of the hardware.
#
# ## Further reading
#
# - P. Tillet, H. T. Kung, D. Cox, *Triton: an intermediate language and compiler for tiled neural network
#   computations*, MAPL 2019. The paper behind the idea of programs on tiles.
# - [The tutorials of Triton](https://triton-lang.org/main/getting-started/tutorials/index.html). The second is this
#   softmax.
# - R. Nystrom, [*Crafting Interpreters*](https://craftinginterpreters.com). The best first book on the front half.
#
# Next: [chapter 1, GPUs and tiles](01_gpu_and_tiles.ipynb). Why is moving numbers slower than computing with them?
