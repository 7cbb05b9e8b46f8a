# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 12: launching and tuning
#
# You call `softmax(x)`. The first call takes a second or more, the next one microseconds. With another x it may be a second again.
#
# **The question: what belongs to a kernel's machine code, and what is only an argument?**
#
# The more the compiler knows, the better its code; but whatever it knows, the code is good for nothing else. This chapter looks at
# where the line is drawn, at what a launch costs, and at the numbers that nobody can compute: the best size of a tile.

# %%
import os
import tempfile

folders = [tempfile.TemporaryDirectory(prefix="tilec-chapter-12-") for _ in range(2)]     # gone when the notebook ends
CACHE, EMPTY = (folder.name for folder in folders)
os.environ["TILEC_CACHE_DIR"] = CACHE             # an empty cache for this chapter, so that we see it fill

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from course.pictures import Bar, draw_bars, draw_chain
from tilelang.diagnostics import CompileError

# %load_ext tilelang.notebook
rng = np.random.default_rng(0)
draw_chain("What happens when a kernel is called", [
    ("arguments:\narrays, numbers", "bind", "types, dims,\nmetas, facts", "look up", "machine code,\nfound or made", "launch",
     "every program\nof the grid")])

# %% [markdown]
# ## What is compiled anew?

# %% active="ipynb"
# %%tile
# kernel scale_rows[T: {f32, f16, i32}, BLOCK = next_pow2(N)](x: T[M, N], s: T, out y: T[M, N]) grid (M) {
#     let row  = program_id(0);
#     let cols = 0 +: BLOCK;
#     y[row, cols] = x[row, cols] * s;
# }

# %% [markdown]
# We call it with one argument after another, and look whether the generated code is one that we have seen. `key_of` makes a short name of a
# text; more on it below.

# %%
from tilelang.runtime.cache import key_of

calls = {
    "f32, 8 x 1024, s = 2": (rng.standard_normal((8, 1024)).astype(np.float32), 2.0),
    "another s": (rng.standard_normal((8, 1024)).astype(np.float32), 3.0),
    "more rows": (np.zeros((500, 1024), np.float32), 2.0),
    "1008 columns": (np.zeros((8, 1008), np.float32), 2.0),
    "1001 columns": (np.zeros((8, 1001), np.float32), 2.0),
    "1002 columns": (np.zeros((8, 1002), np.float32), 2.0),
    "2048 columns": (np.zeros((8, 2048), np.float32), 2.0),
    "every second column": (np.zeros((8, 2048), np.float32)[:, ::2], 2.0),
    "f16": (np.zeros((8, 1024), np.float16), 2.0),
    "i32": (np.zeros((8, 1024), np.int32), 2),
}
seen = {}


def seen_as(text):
    """A letter for each different text."""
    return seen.setdefault(key_of(text), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(seen)])


print(f"{'':<22} BLOCK   CPU code  GPU code")
for name, (x, s) in calls.items():
    on_cpu, on_gpu = scale_rows.compile(x, s, device="cpu"), scale_rows.compile(x, s, target="sm_80")
    print(f"{name:<22} {on_cpu.binding.metas['BLOCK']:>5}   {seen_as(on_cpu.cpu):<8}  {seen_as(on_gpu.cuda)}")

# %% [markdown]
# Read the letters:
#
# - The value of `s`, and the number of rows, are **arguments**. They are in no code.
# - The **element type** is in all code, of course.
# - **Metas** are in the code: BLOCK is the extent of a tile, and a tile's extent decides how many registers a thread needs. BLOCK is
#   computed from N, so N = 1024 and N = 1008 share code, N = 2048 does not.
# - The GPU has other code for 1001 columns than for 1008, though BLOCK is the same; and again other code for a view. Why?
#
# ## Facts
#
# The A100 loads 128 bits in one instruction, if the address is a multiple of 16 bytes. Whether it is depends on the arguments: where
# the array begins, how far apart its rows are. The compiler does not want a version for every N. It wants to know a few *coarse*
# things, which are called **facts**:

# %%
for name in ("f32, 8 x 1024, s = 2", "1008 columns", "1001 columns", "every second column"):
    x, s = calls[name]
    compiled = scale_rows.compile(x, s, target="sm_80")
    facts = ", ".join(f"{fact.removeprefix('fact.')}={int(value)}" for fact, value in compiled.facts)
    vectors = sum("load_f32x" in line and "import" not in line and "(" in line for line in compiled.cuda.split("\n"))
    print(f"{name}: {'vector' if vectors else 'single'} loads\n    {facts}\n")

# %% [markdown]
# `N.div=16` says that N is a multiple of 16, `x.stride0.div=16` that rows begin at multiples of 16 elements, `x.aligned=16` that the array begins at
# a multiple of 16 bytes, `x.stride1=1` that columns are neighbours, `small` that every index fits 32 bits. A fact that does not hold is simply not there. There are few combinations, so there are few versions, and
# most arrays that people use have all of them.
#
# ## What a version costs

# %%
x, s = calls["f32, 8 x 1024, s = 2"]
compiled = scale_rows.compile(x, s, target="sm_80")
print("our stages:", ", ".join(f"{stage} {1000 * seconds:.0f} ms" for stage, seconds in compiled.seconds))


def took(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


first = took(lambda: scale_rows(x, s, device="cpu"))
second = took(lambda: scale_rows(x, s, device="cpu"))
print(f"first call on the CPU {first:.2f} s, second {1e6 * second:.0f} µs: {first / second:,.0f} times less")

# %% [markdown]
# Nearly all of the first call is LLVM (chapter 11), which makes machine code. That is worth keeping, not only in this process.
#
# ## The cache on disk

# %%
for file in sorted(Path(CACHE).glob("*/*/kernel.py")):
    text = file.read_text(encoding="utf-8")
    what = "scale_rows" if "scale_rows" in text else "a helper of the runtime"
    print(f"{file.parent.relative_to(CACHE)}   {what}, {len(text):,} characters")

# %% [markdown]
# A folder for each thing that was compiled. Its name is a **key**: a hash of everything that decides the machine code. If a part were missing from the
# key, one would run the wrong code one day, and that is one of the worst mistakes to find. What decides it?

# %%
from tilelang.runtime.cpu_modules import environment

parts = environment()
print("the generated source, and", len(parts), "more parts:")
for part in parts:
    print("   ", part.replace("\n", " ")[:90] or "(not set)")

# %% [markdown]
# Versions of everything that takes part, and the processor with its features: a home folder may be shared by machines of different
# kinds. And how are the parts put together? Not by joining them:

# %%
print("joined:", "".join(("ab", "c")) == "".join(("a", "bc")))
print("key_of:", key_of("ab", "c") == key_of("a", "bc"))

# %% [markdown]
# Now another process, with the same cache:

# %%
SCRIPT = """
import time, numpy as np, tilelang
kernel = tilelang.compile(open(0, encoding="utf-8").read())["scale_rows"]
x = np.ones((8, 1024), np.float32)
for call in ("first", "second"):
    start = time.perf_counter()
    kernel(x, 2.0, device="cpu")
    print(f"{call} call {1000 * (time.perf_counter() - start):.2f} ms", end="   ")
"""
source = compiled.source.text
for title, folder in (("empty cache", EMPTY), ("this chapter's cache", CACHE)):
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=source, capture_output=True, text=True, check=True,
                          env={**os.environ, "TILEC_CACHE_DIR": folder})
    print(f"{title:<21} {done.stdout}")

# %% [markdown]
# What is left of the first call is our own stages, and loading numba. Everything in the cache may be lost, damaged or read by two processes at
# once; then it is compiled again. Machine code is only loaded if nobody else can write to it, since whoever can write there could run anything in your name.
#
# ## What a launch costs
#
# On a GPU a launch takes a few microseconds before the first thread runs. On the CPU ours takes this long:

# %%
def best(function, seconds=0.3):
    """The shortest time of many calls."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        times.append(took(function))
    return min(times)


tiny, out = np.ones((1, 8), np.float32), np.empty((1, 8), np.float32)
launch = scale_rows.prepare(tiny, 2.0, out, device="cpu")
rows = [("NumPy: tiny * 2, written to out", best(lambda: np.multiply(tiny, np.float32(2), out=out))),
        ("prepared before, only run", best(launch.run)),
        ("a call like earlier ones", best(lambda: scale_rows(tiny, 2.0, out, device="cpu")))]
scale_rows(tiny, 2.0, out, device="cpu")


def as_if_new():
    scale_rows._shortcuts.clear()
    scale_rows(tiny, 2.0, out, device="cpu")


rows.append(("with all checks", best(as_if_new)))
draw_bars("8 numbers on the CPU", [Bar(name, (1e6 * s,), f"{1e6 * s:.1f} µs") for name, s in rows], label=230)

# %% [markdown]
# For arrays this small the launch is everything. The checks are what makes a call slow: which array is which, do the shapes fit, do
# arrays overlap. If a call is *like* an earlier one (same types, shapes and strides) most of it is known. From which size on does it
# not matter?

# %%
def compared(rows, columns):
    wide = np.ones((rows, columns), np.float32)
    result = np.empty_like(wide)
    ours = best(lambda: scale_rows(wide, 2.0, result, device="cpu"), 0.2)
    numpys = best(lambda: np.multiply(wide, np.float32(2), out=result), 0.2)
    print(f"{wide.size:>9,} numbers: ours {1e6 * ours:>8.1f} µs, NumPy {1e6 * numpys:>8.1f} µs")


for shape in ((1, 8), (1, 1024), (10, 1024), (100, 1024), (1000, 1024), (4000, 1024)):
    compared(*shape)

# %% [markdown]
# ## What is checked, and why
#
# Programs run in any order, at the same time. If the output lies on top of an input, the result depends on who is first. So it is
# refused, with a place to look at, and likewise an output with two indexes for one element:

# %%
line = np.zeros(2000, np.float32)
x = line[:800].reshape(2, 400)
for title, out in (("the output overlaps the input", line[400:1200].reshape(2, 400)),
                   ("all rows of the output are one", np.lib.stride_tricks.as_strided(line[1200:], (2, 400), (0, 4)))):
    try:
        scale_rows(x, 2.0, out, device="cpu")
    except CompileError as error:
        print(f"{title}: {error.diagnostics[0].code} {error.diagnostics[0].title}")

# %% [markdown]
# The second one has to be *found*: strides may be anything. Sort the axes by stride; if each step is larger than all that the smaller
# ones span, no two elements meet. That is your exercise `meets_itself`.
#
# ## Tuning: the numbers that nobody can compute
#
# How large should a tile be? Larger tiles reuse more, and need more registers; more programs keep more of the machine busy, and each
# costs something. What is best depends on the shape and on the machine. An author lists candidates in the header, the first is the default:

# %% active="ipynb"
# %%tile
# kernel matmul[BM: {32, 16, 64}, BN: {32, 64, 128}, BK = 32](a: f32[M, K], b: f32[K, N], out c: f32[M, N])
#     grid (cdiv(M, BM), cdiv(N, BN))
# {
#     let rows = program_id(0) * BM +: BM;
#     let cols = program_id(1) * BN +: BN;
#     var acc  = zeros([BM, BN], f32);
#     for k in range(0, K, BK) {
#         acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
#     }
#     c[rows, cols] = acc;
# }

# %% [markdown]
# `tune` compiles every combination and **measures**. Measuring is harder than it looks: the machine does other things too. So the candidates
# take turns, in a race; a busy moment then hits all of them, and those that are clearly slower drop out. Before that, each one's result is compared with the
# first one's: a fast wrong kernel is not wanted.

# %%
a, b = rng.standard_normal((192, 256)).astype(np.float32), rng.standard_normal((256, 320)).astype(np.float32)
result = matmul.tune(a, b, device="cpu", seconds=3)
result

# %%
for shape in ((192, 256, 320), (192, 256, 321)):
    launch = matmul.prepare(a, rng.standard_normal(shape[1:]).astype(np.float32), device="cpu")
    print(f"{' x '.join(map(str, shape))}: {dict(launch.metas)}, from tuning: {launch.tuned is not None}")

# %% [markdown]
# From now on calls with such arrays use the winner, in other processes too. For another shape nothing is guessed.
#
# ### Without measuring: the model
#
# There is no GPU here. But the machine model of chapter 10 gives a lower bound for the time, and that can be compared. It costs no
# time on a GPU, and it is as good as the model is: it does not know latency, or what ptxas makes of the code.

# %%
modelled = matmul.tune(a, b, by="model", gpu="a100", BM=(16, 32), keep=False)
modelled

# %%
tried = [trial for trial in modelled.ranked if trial.seconds]
draw_bars("The model's lower bounds for an A100",
          [Bar(f"BM={trial.metas['BM']}, BN={trial.metas['BN']}", (1e6 * trial.seconds,), f"{1e6 * trial.seconds:.1f} µs")
           for trial in tried])

# %% [markdown]
# What is best on a CPU need not be best on a GPU, nor for another shape. That is the reason to write the sizes of tiles as metas, and not as
# numbers in the text. In a terminal: `tilec tune`.
#
# ## Change it
#
# 1. In `calls`, add an array that begins at element 1: `np.zeros(8193, np.float32)[1:].reshape(8, 1024)`. Which facts differ? (The runtime copies host
#    arrays to an aligned place on the GPU.) And if the rows run backwards, `[::-1]`?
# 2. Write `BLOCK = 1024` in `scale_rows` and call it with 2048 columns. What happens to the rest of each row? Make the kernel right with a second axis
#    in the grid, for any BLOCK. How many versions are there now?
# 3. Change a comment in `scale_rows` and run the cells again. Is it compiled anew? Should it be?
# 4. Tune `matmul` for a product of 4 x 256 by 256 x 320. Which tile wins, and why is it no square?
# 5. Measure `best(np.multiply...)` ten times. By how much do the results differ? What does that mean for a race?
#
# ## Exercises
#
# Write the functions in [`course/ch12_launch_and_tune/exercise.py`](../course/ch12_launch_and_tune/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch12")

# %%
import course
import tilelang

with course.installed("ch12") as mine:
    print(mine)
    program = tilelang.load("../course/kernels/softmax.tile")
    print(program["softmax"](np.ones((3, 5), np.float32), device="cpu").sum(axis=1))

# %% [markdown]
# ## In short
#
# - **Specialisation**: element types, metas and a few **facts** about the arguments are compiled in. Values, dims and addresses are not.
# - A **fact** is coarse on purpose: "a multiple of 16", not "1008". Few facts, few versions.
# - A **cache** keeps what was compiled. Its **key** must hold all that decides the result, each part apart.
# - A **launch** has a price of its own. For small arrays it is the whole price.
# - Outputs must not **overlap** anything, themselves included.
# - **Tuning** chooses metas by measuring in a race, or by a model. A result holds for what it was measured on.
#
# **Where this differs from the real thing.** Triton specialises in the same way: on element types, on `constexpr` arguments, on whether an
# integer is a multiple of 16 and on whether it is 1. Its `@triton.autotune` runs every configuration of a list that the author writes, for each new value of the
# arguments named as key. Large users tune ahead and ship tables. Launching on a GPU is asynchronous: the call comes back before the kernel has run, and
# many launches can be recorded once and replayed as a *graph*, which makes each of them cheaper.
#
# ## Further reading
#
# - R. C. Whaley, J. Dongarra, *Automatically tuned linear algebra software*, SC 1998: tuning by measuring, the classic.
# - M. Frigo, S. Johnson, *The design and implementation of FFTW3*, Proceedings of the IEEE 93(2), 2005.
# - O. Maron, A. Moore, *Hoeffding races: accelerating model selection search*, NIPS 1993: the race.
# - J. Ansel and others, *OpenTuner: an extensible framework for program autotuning*, PACT 2014.
# - T. Mytkowicz and others, *Producing wrong data without doing anything obviously wrong!*, ASPLOS 2009: how measuring goes wrong.
#
# Next: [chapter 13, flash attention on your own compiler](13_capstone.ipynb).
