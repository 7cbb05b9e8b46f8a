# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 11: code generation
#
# The last thing that our compiler does is to write a Python file. Python is slow, a hundred times slower than C where it
# loops over numbers. And yet what we write is fast.
#
# **The question: who turns our text into instructions, and how can we see that they are good ones, without a GPU?**
#
# This chapter writes code for two very different machines, follows it down to the instructions, and reads those. It also
# runs the GPU's code here, slowly, to see that it is right.

# %%
import numpy as np

from course.machine_code import (compare_gpu, count_kinds, count_widths, cpu_assembly, hot_loop, loops, ptx_body,
                                 show_sass)
from course.pictures import Bar, draw_bars, draw_chain, linked
from tilelang.dtypes import BF16, F16, F32, I8, I64
from tilelang.ir.printer import print_kernel

# %load_ext tilelang.notebook
draw_chain("Our text is the beginning of somebody else's work", [
    ("thread IR", "we", "numba.cuda\nsource", "numba", "LLVM IR", "NVVM", "PTX", "ptxas", "SASS: what\nthe GPU runs"),
    ("tile IR", "we", "numba source", "numba", "LLVM IR", "LLVM", "machine code\nof the CPU"),
])

# %% [markdown]
# [numba](https://numba.pydata.org) reads a Python function, finds out the type of every variable, and gives the rest to LLVM,
# a library that most compilers use today. For NVIDIA's GPUs two steps follow that only NVIDIA can write: **NVVM** makes
# **PTX**, an assembly language for no particular GPU, and **ptxas** makes **SASS**, the instructions of one kind of GPU. They
# come as Python wheels (`pip install -e '.[cuda]'`) and need no GPU. Where they are not installed, the cells below say so.
#
# ## The road to the GPU: a thread's program
#
# Thread IR says what *one* thread does (chapters 9 and 10). Each of its steps is one line of Python, or a part of one. The
# program is `z = a x + y`, which the BLAS library calls *saxpy*.

# %% active="ipynb"
# %%tile
# kernel saxpy[BLOCK = 1024](a: f32, x: f32[N], y: f32[N], out z: f32[N]) grid (cdiv(N, BLOCK)) {
#     let i = program_id(0) * BLOCK +: BLOCK;
#     z[i] = a * x[i] + y[i];
# }

# %%
x, y = np.random.default_rng(0).standard_normal((2, 4099)).astype(np.float32)
on_gpu = saxpy.compile(2.0, x, y, target="sm_80")
linked(on_gpu, "thread_ir", "cuda")

# %% [markdown]
# Read a line of the code from left to right: `t` is the thread's number in its block. `x_first` and `x_s0` say where the
# array begins and how far its elements are apart, since an argument may be a view. Every index is checked against `N`. And
# every number has a type by name, `i32(...)`, `f32(...)`: numba would widen `int32 + int32` to 64 bits, as NumPy's integers on
# many machines, and 64-bit arithmetic takes a GPU two instructions or more.
#
# ## The road to the CPU: loops
#
# A CPU core has no 128 threads. It has **vector instructions**: one instruction for 4, 8 or 16 numbers. LLVM finds them by
# itself, if the loop is plain enough. So here the compiler starts from *tile* IR, and writes plain loops.

# %%
on_cpu = saxpy.compile(2.0, x, y, device="cpu")
linked(on_cpu, "optimized", "cpu")

# %% [markdown]
# Two things to see. `for program in range(lo, hi)`: a core gets a range of programs. And there is **no array for `a * x`**.
# Three tile operations became one loop; each element is loaded, multiplied, added and stored while it is in a register. That
# is the fusion of chapter 1 again, on another machine.
#
# `load` and `store` are not Python's. They are *words*, small functions of
# [`tilelang/runtime/cpu_vocabulary.py`](../tilelang/runtime/cpu_vocabulary.py) that become one instruction each. Where Python's own operator
# means exactly what ours does, it is written instead, because it reads better. When does it not mean the same?

# %%
from numba import njit


@njit
def python_sum(a, b):
    return a + b


a, b = np.int8(100), np.int8(100)
with np.errstate(over="ignore"):
    print("the tile language says that i8 wraps: ", a + b)
print("numba's + on two int8 widens:         ", python_sum(a, b))

# %% [markdown]
# So for small integers a word is written, for floats an operator. That decision is your exercise `_call`. The same kernel,
# three element types:

# %% active="ipynb"
# %%tile
# kernel plus[T: {f32, f16, i8}](x: T[N], y: T[N], out z: T[N]) grid (1) {
#     let i = 0 +: 64;
#     z[i] = x[i] + y[i];
# }

# %%
for dtype in (np.float32, np.float16, np.int8):
    text = plus.compile(x[:64].astype(dtype), y[:64].astype(dtype), device="cpu").cpu
    print(f"{np.dtype(dtype).name:<8}", next(line.strip() for line in text.split("\n") if "add" in line and "=" in line))

# %% [markdown]
# The half float has a word around it. A CPU adds in 32 bits, and the result must be rounded to 16, as if there had been an
# instruction for it.
#
# ## Writing text is full of traps
#
# **Names.** A kernel's author may call a variable anything that the language allows. Python does not allow `lambda`, and
# `max` means something already.

# %%
from tilelang.codegen.names import Names, printable

names = Names()
for wished in ("row", "row", "row", "lambda", "max", "größe", "__init__"):
    print(f"{wished:<10} becomes {names._fresh(wished)}")

# %% [markdown]
# **Comments.** The generated file quotes your source. What if a file's name, or a message in an `assert`, holds the end of a
# line? Then the rest of the "comment" would be code, in a file that is about to be run. This is how one gets an *injection*.

# %%
evil = "softmax.tile\nimport os; print('anything could run here')"
print("# kernel of", evil)
print()
print("# kernel of", printable(evil))

# %% [markdown]
# **Numbers.** A constant in the text must be read back as the same number, to the last bit. How many digits does that take?

# %%
from tilelang.codegen.cpu_text import literal

values = np.random.default_rng(1).standard_normal(100_000).astype(np.float32)
for digits in (6, 7, 8, 9):
    lost = sum(np.float32(f"{v:.{digits}g}") != v for v in values)
    print(f"{digits} digits: {lost:>6,} of {len(values):,} floats come back as another one")
print("repr:    ", f"{sum(np.float32(repr(float(v))) != v for v in values):>6,}")
print(literal(0.1, F32), literal(0.1, F16), literal(0.1, BF16), literal(-3, I64), literal(-3, I8), sep="   ")

# %% [markdown]
# Nine digits are enough for 32 bits, seventeen for 64. The 0.1 of a half float is another number than that of a float, so it
# is rounded *before* it is written.
#
# ## Running the GPU's code here
#
# The generated GPU code is Python. So Python can run it: numba has a **simulator** that runs the threads one after another and
# stops them at each barrier. It takes seconds where a GPU takes microseconds, but it is another pair of eyes. This kernel needs
# barriers:

# %% active="ipynb"
# %%tile
# kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row  = program_id(0);
#     let cols = 0 +: BLOCK;
#     let v    = x[row, cols] else -inf;
#     let e    = exp(v - max(v, axis=0));
#     y[row, cols] = e / sum(e, axis=0);
# }

# %%
rows = np.random.default_rng(2).standard_normal((3, 200)).astype(np.float32)
exact = np.exp(rows.astype(np.float64))
exact /= exact.sum(axis=1, keepdims=True)

launch = softmax.prepare(rows, device="simulator")
launch.run()
compiled = launch.compilation
print("largest difference from the exact result:", abs(launch.result - exact).max())

# %% [markdown]
# What is a barrier worth? We take the barriers out of the text, and run it again, with the threads in two orders.

# %%
from tilelang.runtime.simulator import run

broken = compiled.cuda.replace("cuda.syncthreads()", "pass")
print("barriers in the text:", compiled.cuda.count("cuda.syncthreads()"))
for title, source in (("with barriers", compiled.cuda), ("without", broken)):
    for backwards in (False, True):
        found = np.zeros_like(rows)
        run(source, compiled.thread_ir, {"x": rows, "y": found}, launch.dims, launch.grid, backwards=backwards)
        order = "last thread first" if backwards else "first thread first"
        print(f"{title:<14} {order:<19} {'right' if np.allclose(found, exact, atol=1e-6) else 'wrong'}")

# %% [markdown]
# Without barriers a thread reads what another has not written yet. On a real GPU such a mistake may show once in a thousand
# runs. That is why the compiler's own tests run generated code in both orders, and why the machine model watches for it.
#
# ## Reading PTX
#
# One step down. PTX has as many registers as one likes, and a type in every instruction. `%rd` are 64-bit registers, `%f` floats,
# `%p` conditions; `@%p1 bra` jumps if the condition holds.

# %%
lines = [line for line in ptx_body(on_gpu) if not line.startswith(("ld.param", "cvta"))]
print("\n".join(lines[:38] + ["..."] * (len(lines) > 38)))

# %% [markdown]
# Look for `mul.rn` and `add`. A GPU can multiply and add in one instruction, with one rounding. NVVM would do that by itself, and
# then the result would differ from NumPy's in the last bit. `.rn` forbids it: it says "round here". The language has `fma(a, b,
# c)` for authors who want it.
#
# ## Reading SASS
#
# This is what the GPU runs. The column at the left is ours.

# %%
even = np.zeros(4096, np.float32)
aligned = saxpy.compile(2.0, even, even, target="sm_80")
show_sass(aligned)

# %% [markdown]
# | name | what it does |
# | --- | --- |
# | `LDG.E.128`, `STG.E.128` | load from global memory, store there: 128 bits, four floats, for each thread |
# | `LDS`, `STS`, `BAR.SYNC` | the same for shared memory; a barrier |
# | `LDL`, `STL` | *local* memory, a thread's own part of HBM: registers ran out, or an array is indexed by a variable. Bad news |
# | `FMUL`, `FADD`, `FFMA` | float arithmetic |
# | `MUFU.EX2` | the special function unit: here 2 to the power of x |
# | `HMMA` | tensor cores: a small matrix product |
# | `SHFL.BFLY` | threads of a warp exchange registers |
# | `IMAD`, `IADD3`, `LEA`, `ISETP`, `LOP3` | integers: addresses and conditions |
# | `@!P0` in front | only if the condition does not hold |
#
# The kernel needs few float instructions; the greater part is the computing of addresses. A thread
# moves four floats in one instruction. That is because 4096 is a multiple of 16, which the compiler was told at the launch
# (chapter 12). Here is the same kernel for two lengths:

# %%
compare_gpu({"N = 4096": aligned, "N = 4099": on_gpu}, "LDG", "LDG.E.128", "STG.E.128", "ISETP")

# %% [markdown]
# **Registers.** A thread can have 255. The more it has, the fewer warps fit on an SM, and the fewer can wait for memory at
# the same time. If they run out, the assembler **spills** some to local memory. How large a row can a block of 128 threads
# hold in registers?

# %%
def of_width(columns):
    return softmax.compile(np.zeros((1, columns), np.float32), target="sm_80")


compare_gpu({f"{columns:,} columns": of_width(columns) for columns in (1024, 8192, 32768)},
            "MUFU.EX2", "LDG", "LDL", "STL")

# %% [markdown]
# In the last line each thread would have 256 elements of its row. The remedy is to give the row more threads (`warps`), or to
# go through it in pieces, as `softmax_wide.tile` does.
#
# **Tensor cores.** The product of two half-float tiles is what they are for.

# %% active="ipynb"
# %%tile
# kernel product[T: {f16, f32}](a: T[64, 64], b: T[64, 64], out c: f32[64, 64]) grid (1) {
#     let i = 0 +: 64;
#     let j = 0 +: 64;
#     c[i, j] = dot(a[i, j], b[i, j]);
# }

# %%
products = {}
for dtype in (np.float16, np.float32):
    square = np.zeros((64, 64), dtype)
    products[f"{np.dtype(dtype).name}"] = product.compile(square, square, target="sm_80")
compare_gpu(products, "HMMA", "FFMA", "LDSM", "LDS", "BAR")

# %%
half = product.compile(np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float16), target="sm_80")
show_sass(half, "tensor cores", most=4)

# %% [markdown]
# `HMMA.16816.F32`: a 16 x 16 tile times a 16 x 8 tile, added up in 32 bits, by the 32 threads of a warp together. What are
# the instructions of the softmax for?

# %%
kinds = count_kinds(of_width(1024))
draw_bars("Instructions of the softmax for 1024 columns", [Bar(kind, (n,), str(n)) for kind, n in kinds.items()]
          or [Bar("not shown", (0,), "the CUDA compiler is not installed")])

# %% [markdown]
# `MUFU` is the special function unit, which knows 2^x and 1 / x to some 22 bits, at once. Most of the others are there for the
# last bits: `e / sum` must be the nearest float, for every pair of floats, and `exp` right to an ulp or two. Where a few bits less will do,
# the program may say so, at the operation:

# %% active="ipynb"
# %%tile
# kernel quick_softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row  = program_id(0);
#     let cols = 0 +: BLOCK;
#     let v    = x[row, cols] else -inf;
#     let e    = exp(v - max(v, axis=0), approx=true);
#     y[row, cols] = divide(e, sum(e, axis=0), approx=true);
# }

# %%
quick = quick_softmax.compile(np.zeros((1, 1024), np.float32), target="sm_80")
compare_gpu({"exact": of_width(1024), "approximate": quick}, "MUFU.EX2", "MUFU.RCP", "FCHK", "FMUL", "FFMA", "CALL")

# %% [markdown]
# Eight exponentials a thread are now eight multiplications by log2(e) and eight `MUFU.EX2`, and the row's sum is turned over once: the
# tile is multiplied by 1 / sum. How far off that may be stands in the [language reference](../grammar/LANGUAGE.md), under "Approximate
# arithmetic". Other devices take the multiplication from it, and exact exponentials.

# %% [markdown]
# ## Reading the CPU's instructions
#
# On x86-64 a register `ymm` holds 8 floats, `zmm` 16, `xmm` 4; instructions that end in `ps` work on all of them, those that
# end in `ss` on one. (On ARM, as in Apple's computers, `v0.4s` are four floats.) LLVM has made the loop of `saxpy` into this:

# %%
print("\n".join(hot_loop(cpu_assembly(on_cpu))))

# %% [markdown]
# LLVM not only used vectors, it also **unrolled** the loop: several vectors in each trip, so that the processor has enough to do
# while it waits for one. Count the instructions by how many numbers they work on:

# %%
for title, compilation in (("saxpy", on_cpu), ("softmax", softmax.compile(rows, device="cpu"))):
    print(f"{title:<8}", count_widths(cpu_assembly(compilation)), f"in {len(loops(cpu_assembly(compilation)))} innermost loops")

# %% [markdown]
# **A sum in vectors is another sum.** Adding up in eight lanes, and the lanes at the end, rounds differently from adding up from
# left to right. So LLVM refuses to do it, unless the code says that the order does not matter. The word `accumulate_sum` says
# so. With numba's plain `+`:

# %%
@njit
def plain_sum(v):
    total = np.float32(0)
    for i in range(len(v)):
        total = total + v[i]
    return total


@njit(fastmath={"reassoc", "nsz"})
def any_order_sum(v):
    total = np.float32(0)
    for i in range(len(v)):
        total = total + v[i]
    return total


# %%
import time


def best(function, seconds=0.3):
    """The shortest time of many calls: the least disturbed by what else the machine does."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


many = np.random.default_rng(3).random(1_000_000).astype(np.float32)
truth = many.astype(np.float64).sum()
for function in (plain_sum, any_order_sum):
    total = function(many)
    text = next(iter(function.inspect_asm().values()))
    print(f"{function.__name__:<14} {1e6 * best(lambda f=function: f(many)):>6.0f} µs   "
          f"relative error {abs(total - truth) / truth:.1e}   {count_widths(text)}")

# %% [markdown]
# The one in any order takes less time, and here it is more exact as well, because its partial sums stay smaller.
#
# ## How much may results differ?
#
# Then what is "the same result"? For each device we count how many floats lie between its softmax and the exact one. This
# distance is called **ulp**, unit in the last place.

# %%
def ulps(found, exact):
    return abs(found.astype(np.float64) - exact) / np.spacing(exact.astype(np.float32)).astype(np.float64)


plain = np.exp(rows - rows.max(axis=1, keepdims=True))
plain /= plain.sum(axis=1, keepdims=True)
print(f"NumPy, f32    at most {ulps(plain, exact).max():.2f} ulp")
for device in ("reference", "cpu", "model", "simulator"):
    print(f"{device:<13} at most {ulps(softmax(rows, device=device), exact).max():.2f} ulp")

# %% [markdown]
# What can be asked: `+ - * /` and `sqrt` of single elements must be right to the last bit, as the standard for floats, IEEE 754,
# says. Functions such as `exp` have an error of a few ulp. Sums may be taken in any order, so for n terms the error may grow, at worst in
# proportion to n, usually like the root of n. Tests compare with a computation in 64 bits, and allow that much and no more.
# With `approx=true` more is allowed, but just as definitely: for `exp(x)`, 2 + 1.2 |x| ulp.
#
# ## Is it any good?
#
# The CPU kernel against NumPy, measured on the machine on which this page was made. Measure on yours: the ratio depends on the
# processor, on the number of cores, and on what else runs.

# %%
def numpy_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


large = np.random.default_rng(4).standard_normal((2000, 1000)).astype(np.float32)
out = np.empty_like(large)
seconds = {"NumPy": best(lambda: numpy_softmax(large)), "our kernel": best(lambda: softmax(large, out, device="cpu"))}
draw_bars(f"softmax of {large.shape[0]:,} x {large.shape[1]:,} on this CPU",
          [Bar(name, (1000 * s,), f"{1000 * s:.2f} ms") for name, s in seconds.items()])

# %%
import os

print(f"time of NumPy / time of our kernel = {seconds['NumPy'] / seconds['our kernel']:.2f}, on {os.cpu_count()} cores, of which "
      "NumPy uses one")
print("same result:", np.allclose(out, numpy_softmax(large), rtol=1e-5))

# %% [markdown]
# `tilec bench` measures all kernels of the library like this, and says what the machine's memory and arithmetic could do.
#
# ## Change it
#
# 1. In `saxpy`, write `fma(a, x[i], y[i])`. What becomes of `mul.rn` in the PTX, of `FMUL` in the SASS, of `vmulps`?
# 2. Compile `softmax` for `target="sm_90"`. Which instructions are new? And `product`?
# 3. Give `of_width(32768)` more threads: write `[BLOCK = next_pow2(N), warps = 16]` in the kernel. Are the spills gone?
# 4. In `broken`, take out only the first barrier: `replace("cuda.syncthreads()", "pass", 1)`. Which order shows it?
# 5. Call `softmax(large.T, device="cpu")`. Its columns lie far apart in memory. Is the innermost loop still made of vectors?
#
# ## Exercises
#
# Write the functions in [`course/ch11_codegen/exercise.py`](../course/ch11_codegen/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch11")

# %%
import course
import tilelang

with course.installed("ch11") as mine:
    print(mine)
    program = tilelang.load("../course/kernels/softmax.tile")
    print(abs(program["softmax"](rows, device="cpu") - exact).max() < 1e-6)

# %% [markdown]
# ## In short
#
# - **Code generation** writes down IR in a language that another compiler reads. Names, comments and numbers are its traps.
# - **PTX** is NVIDIA's assembly for no particular GPU, **SASS** what one kind of GPU runs. Both can be read without a GPU.
# - `LDG.E.128` is a **vector load**. `LDL` and `STL` mean that registers were **spilled**. `HMMA` is a **tensor core**.
# - On a CPU, LLVM makes **vector instructions** of plain loops. A sum it may reorder only if it is told so.
# - **Fused** multiply-add has one rounding. It gives another result than a product and a sum.
# - An **ulp** is the distance between neighbouring floats. Correct results may differ by some, and a test must know how many.
# - The **simulator** runs generated GPU code in Python. It finds what is wrong, not what is slow.
#
# **Where this differs from the real thing.** Triton makes LLVM IR itself, without a Python text in between, and so decides about
# details that we leave to numba. Its users look at the same things: it prints the registers and spills of every kernel that it
# tries. What we read here is real machine code for a real GPU; how fast it
# runs, only a GPU can say. The model of chapters 1 and 10 gives a lower bound.
#
# ## Further reading
#
# - S. K. Lam, A. Pitrou, S. Seibert, *Numba: a LLVM-based Python JIT compiler*, LLVM-HPC 2015.
# - C. Lattner, V. Adve, *LLVM: a compilation framework for lifelong program analysis and transformation*, CGO 2004.
# - NVIDIA, [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/) (PTX), and
#   [*CUDA Binary Utilities*](https://docs.nvidia.com/cuda/cuda-binary-utilities/), with a list of SASS instructions.
# - D. Goldberg, *What every computer scientist should know about floating-point arithmetic*, ACM Computing Surveys 23(1), 1991.
# - G. Steele, J. White, *How to print floating-point numbers accurately*, PLDI 1990.
# - N. Higham, *The accuracy of floating point summation*, SIAM J. Sci. Comput. 14(4), 1993.
#
# Next: [chapter 12, launching and tuning](12_launch_and_tune.ipynb). One kernel, many versions of it.
