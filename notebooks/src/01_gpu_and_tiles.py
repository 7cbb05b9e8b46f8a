# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 1: GPUs and tiles
#
# A softmax takes five array operations in NumPy or PyTorch. Written as one tile kernel it does exactly the same
# arithmetic, and on a GPU it can be about four times as fast.
#
# **The question: where does the time go, if not into arithmetic?**
#
# To answer it we need to know what a GPU is, how its memories differ, and what the ways of programming it do with
# them. All numbers in this chapter are computed here: from data sheets, and by a model of a GPU that counts every
# access. No GPU is needed.

# %%
import numpy as np

from course.pictures import Bar, draw_bars, draw_gpu, draw_grid, draw_memories, draw_warp
from tilelang.machine.gpus import GPUS

# %load_ext tilelang.notebook
a100 = GPUS["a100"]
print(a100.title, "is our example; its figures are from:", *a100.sources, sep="\n  ")

# %% [markdown]
# ## Many slow workers
#
# A CPU core runs one thread, and does everything to make it fast. A GPU does the opposite. It has thousands of
# **threads**, each slow, and lives from having so many.
#
# A program for a GPU says what *one* thread does. The thread asks who it is, and picks its part of the work. This is
# the addition of two vectors in CUDA C++, NVIDIA's language:
#
# ```cpp
# __global__ void add(const float *x, const float *y, float *z, int n) {
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#     if (i < n) z[i] = x[i] + y[i];
# }
# add<<<(n + 127) / 128, 128>>>(x, y, z, n);      // blocks, threads in each
# ```
#
# Nothing in it is hard to say in Python. The two loops at the end are what the hardware does, only that it does not do
# it one after the other.

# %%
THREADS = 128


def add_thread(block, thread, x, y, z):
    """What one thread does."""
    i = block * THREADS + thread
    if i < len(z):                     # the last block reaches past the end
        z[i] = x[i] + y[i]


n = 1000
x, y, z = np.arange(n), np.arange(n), np.zeros(n, int)
blocks = -(-n // THREADS)              # rounded up
for block in range(blocks):
    for thread in range(THREADS):
        add_thread(block, thread, x, y, z)

print(blocks, "blocks of", THREADS, "threads; right:", bool((z == x + y).all()))

# %% [markdown]
# The words for this:
#
# - A **block** is a group of threads that run on the same part of the GPU, and can share a small fast memory.
# - The **grid** is all blocks of a launch.
# - An **SM** (streaming multiprocessor) is that part of the GPU. A block stays on its SM until it is done.
# - A **warp** is 32 threads of a block that take each step together. If only some of them go into an `if`, the others
#   wait.

# %%
draw_grid(programs=blocks, warps=THREADS // 32, sms=4)

# %% [markdown]
# That is a GPU with 4 SMs, for the picture. The A100 has more, and each SM can hold many warps at a time. While one
# warp waits for memory, the SM goes on with another. That is why a GPU wants far more threads than it has places to
# compute.

# %%
print(f"{a100.sms} SMs, each with up to {a100.warps_per_sm} warps of {a100.warp_size} threads: "
      f"{a100.sms * a100.warps_per_sm * a100.warp_size:,} threads at a time")

# %% [markdown]
# ## Four memories
#
# - **Registers** hold what a thread is working with. No other thread sees them.
# - **Shared memory** belongs to an SM. All threads of a block can use it. It is cut from the same store as the L1
#   cache (on an A100 it can be up to 164 of 192 KiB), and the program decides what is in it.
# - The **L2 cache** keeps what was lately used, for all SMs. It works by itself.
# - **HBM** (high bandwidth memory), or *global memory*, is where arrays live.
#
# How fast can each move data? Shared memory delivers 128 bytes a clock on each SM: 32 *banks* of 4 bytes, one for each
# thread of a warp. For registers we take what arithmetic at full speed needs: a multiply-add reads three numbers of 4
# bytes and writes one.

# %%
KIB, MIB = 1024, 1024**2
L1_AND_SHARED = 192 * KIB              # on each SM of an A100 (its whitepaper)

shared_rate = a100.sms * 128 * a100.clock
register_rate = a100.f32 / 2 * 16      # f32 operations count a multiply-add as two
assert shared_rate == a100.shared_rate

memories = [
    ("registers", a100.register_bytes, register_rate),
    ("L1 + shared memory", a100.sms * L1_AND_SHARED, shared_rate),
    ("L2 cache", a100.l2, a100.l2_rate),
    ("HBM", a100.memory, a100.memory_rate),
]
for name, size, rate in memories:
    print(f"{name:<20} {size / MIB:>8,.0f} MiB   {rate / 1e9:>9,.0f} GB/s   {rate / a100.memory_rate:>6.1f} times HBM")

# %%
draw_gpu(a100.title, a100.sms, [
    ("registers", f"{a100.registers_per_sm * 4 // KIB} KiB", f"{register_rate / a100.sms / 1e9:,.0f} GB/s each"),
    ("L1 + shared", f"{L1_AND_SHARED // KIB} KiB", f"{shared_rate / a100.sms / 1e9:.0f} GB/s each"),
    ("L2 cache", f"{a100.l2 // MIB} MiB", f"{a100.l2_rate / 1e9:,.0f} GB/s"),
    ("HBM", f"{a100.memory // 1024**3} GiB", f"{a100.memory_rate / 1e9:,.0f} GB/s"),
])

# %%
draw_memories([(name, size, f"{size / MIB:,.0f} MiB", rate, f"{rate / 1e9:,.0f} GB/s")
               for name, size, rate in memories])

# %% [markdown]
# One step down, and everything is several times slower. (The A100 is also sold with 80 GB of a faster HBM. That
# narrows the last step a little:)

# %%
A100_80GB_RATE = 2039e9                # bytes a second, from the data sheet of that model
print(f"from HBM to shared memory: {shared_rate / a100.memory_rate:.1f} times as fast with 40 GB, "
      f"{shared_rate / A100_80GB_RATE:.1f} times with 80 GB")

# %% [markdown]
# The whole art of GPU programming is to go down as seldom as
# possible: to load a number from HBM once, and to do all there is to do with it while it is in a register.
#
# Not all GPUs are alike, but the shape is always the same:

# %%
print(f"{'':<20} {'SMs':>4} {'shared':>12} {'HBM':>11} {'ratio':>6} {'f32 FLOP for each byte':>24}")
for gpu in GPUS.values():
    print(f"{gpu.title:<20} {gpu.sms:>4} {gpu.shared_rate / 1e12:>7.1f} TB/s {gpu.memory_rate / 1e9:>6,.0f} GB/s "
          f"{gpu.shared_rate / gpu.memory_rate:>6.1f} {gpu.f32 / gpu.memory_rate:>24.1f}")

# %% [markdown]
# The last column says how many operations a GPU can do in the time in which one byte arrives from HBM. A float has
# four bytes. A kernel that does fewer operations for each byte than that is **memory bound**: faster arithmetic would
# not help it at all. An addition of two vectors does one operation for twelve bytes.

# %% [markdown]
# ## How a warp reads
#
# Memory does not move single numbers. It moves **sectors** of 32 bytes. The threads of a warp read together, and the
# hardware counts how many different sectors they need. If neighbouring threads read neighbouring floats, little is
# wasted. This is called a **coalesced** access.

# %%
draw_warp([4 * thread for thread in range(32)], 4, "Thread t reads float t")

# %%
draw_warp([4 * 2 * thread for thread in range(32)], 4, "Thread t reads float 2 t")

# %%
draw_warp([4 * 8 * thread for thread in range(32)], 4, "Thread t reads float 8 t")

# %% [markdown]
# In the last picture eight times as many bytes move as in the first, for the same 32 floats. That happens to anyone
# who walks through a matrix by columns where its rows lie side by side in memory. On a GPU the order of the work is
# part of the speed. In CUDA it is the programmer who must find a good order, in a tile language the compiler.

# %% [markdown]
# ## Who decides?
#
# The history of programming GPUs is a search for who should decide what happens where: the person, the library, or the
# compiler.
#
# | | you write | who decides about threads and memory |
# | --- | --- | --- |
# | CUDA (2007) | what one thread does | you |
# | static graphs, as in TensorFlow (2015) | a graph of array operations; it is compiled, then run | a compiler that sees the whole graph |
# | eager, as in PyTorch (2016) | array operations; each runs at once | whoever wrote the library's kernels |
# | tiles, as in Triton (2019) | what one program does with its tile | you: which tiles; the compiler: the rest |
#
# In CUDA you can do everything right, and also everything wrong. Now we count what the other three do to HBM, for one
# softmax of 4096 rows and 1024 columns.

# %%
M, N = 4096, 1024
data = np.random.default_rng(0).standard_normal((M, N)).astype(np.float32)
one_pass = data.nbytes
print(f"the matrix has {one_pass / 1e6:.1f} MB")

# %% [markdown]
# ### Eager: one kernel for each operation
#
# An eager library runs each operation when it is called. Each reads its arrays from HBM and writes its result there.
# Here is such a library, on NumPy, that counts.

# %%
class Eager:
    """An array; every operation on it is a kernel of its own."""

    log = []

    def __init__(self, array):
        self.array = array

    def run(self, name, function, *others):
        arrays = [self.array, *(other.array for other in others)]
        result = Eager(function(*arrays))
        Eager.log.append((name, sum(a.nbytes for a in arrays), result.array.nbytes))
        return result

    def max(self): return self.run("max", lambda a: a.max(axis=1, keepdims=True))
    def sum(self): return self.run("sum", lambda a: a.sum(axis=1, keepdims=True))
    def exp(self): return self.run("exp", np.exp)
    def __sub__(self, other): return self.run("sub", np.subtract, other)
    def __truediv__(self, other): return self.run("div", np.divide, other)


def softmax_of(x):
    """The same text for eager arrays and, below, for nodes of a graph."""
    e = (x - x.max()).exp()
    return e / e.sum()


Eager.log.clear()
eager_result = softmax_of(Eager(data)).array
print(f"{'kernel':<8} {'read':>10} {'written':>10}")
for name, read, written in Eager.log:
    print(f"{name:<8} {read / 1e6:>7.2f} MB {written / 1e6:>7.2f} MB")
eager_bytes = sum(read + written for _, read, written in Eager.log)
print(f"together {eager_bytes / 1e6:.1f} MB, {eager_bytes / one_pass:.1f} times the matrix")

# %% [markdown]
# ### Static graph: first write it all down
#
# In a static graph `x - x.max()` computes nothing. It makes a node. When the whole graph is known, a compiler can put
# neighbouring operations into one kernel, so that what passes between them stays in registers. This is called
# **fusion**.
#
# Our rule is a simple one: an operation that works element by element joins the kernel that computes its first operand,
# if nothing else has to run in between. Only what leaves a kernel is written to HBM.

# %%
class Node:
    """An operation that is not run yet."""

    def __init__(self, op, inputs, shape):
        self.op, self.inputs, self.shape = op, inputs, shape

    def max(self): return Node("max", [self], (M, 1))
    def sum(self): return Node("sum", [self], (M, 1))
    def exp(self): return Node("exp", [self], self.shape)
    def __sub__(self, other): return Node("sub", [self, other], self.shape)
    def __truediv__(self, other): return Node("div", [self, other], self.shape)


def in_order(node, seen=None):
    """Every node after those that it needs."""
    seen = [] if seen is None else seen
    for part in node.inputs:
        in_order(part, seen)
    return seen if node in seen else seen.append(node) or seen


def fuse(nodes):
    """Put the nodes into kernels: a list of lists."""
    kernels, home = [], {}
    for node in nodes:
        if node.op == "input":
            continue
        joins = node.op in ("sub", "exp", "div") and kernels and home.get(node.inputs[0]) is kernels[-1]
        if not joins:
            kernels.append([])
        kernels[-1].append(node)
        home[node] = kernels[-1]
    return kernels


def size(node):
    """Bytes of a node's result."""
    return 4 * node.shape[0] * node.shape[1]


def traffic(kernel, nodes):
    """Bytes that a kernel reads and writes."""
    read = {part for node in kernel for part in node.inputs if part not in kernel}
    users = {part: [n for n in nodes if part in n.inputs] for part in kernel}
    written = [part for part in kernel if not users[part] or any(u not in kernel for u in users[part])]
    return sum(map(size, read)), sum(map(size, written))


result = softmax_of(Node("input", [], (M, N)))
nodes = in_order(result)
graph_bytes = 0
for kernel in fuse(nodes):
    read, written = traffic(kernel, nodes)
    graph_bytes += read + written
    print(f"{' + '.join(node.op for node in kernel):<12} {read / 1e6:>7.2f} MB read {written / 1e6:>7.2f} MB written")
print(f"together {graph_bytes / 1e6:.1f} MB, {graph_bytes / one_pass:.1f} times the matrix")

# %% [markdown]
# Better, but the reductions are in the way. `max` must be finished before the first subtraction, and this compiler does
# not know that one *row* is all that a subtraction needs. Real graph compilers are cleverer than ours, and each has a
# list of patterns that it knows. What is not on the list is not fused.
#
# ### Tiles: the person says what stays
#
# In a tile kernel the author has decided: a program owns a row. The row is loaded once. Everything after that happens
# on a tile, and a tile lives in registers.

# %% active="ipynb"
# %%tile
# kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) {
#     let row  = program_id(0);
#     let cols = 0 +: BLOCK;
#     let v    = x[row, cols] else -inf;
#     let e    = exp(v - max(v, axis=0));
#     y[row, cols] = e / sum(e, axis=0);
# }

# %% [markdown]
# We do not believe that, we count it. The model runs the compiled kernel, thread by thread, follows every access through
# the L2 cache, and reports.

# %%
from tilelang.machine.profile import profile


def profiled(kernel, *arrays, gpu=a100):
    """Run a kernel on the model of a GPU."""
    launch = kernel.prepare(*arrays, device="model")
    stages = kernel.compile(*arrays, target=gpu.target)
    return profile(stages.thread_ir, stages.optimized, gpu, launch.arguments, launch.dims, launch.grid, stages.source)


report = profiled(softmax, data)
tile_bytes = report.traffic.total
print(f"read {report.traffic.read / 1e6:.1f} MB, written {report.traffic.written / 1e6:.1f} MB, "
      f"together {tile_bytes / one_pass:.1f} times the matrix")
print("same result as eager:", np.allclose(softmax(data), eager_result))
print("the model's own count of an eager softmax agrees with ours:", report.eager.bytes == eager_bytes)

# %%
rows = [("eager, 5 kernels", eager_bytes), (f"static graph, {len(fuse(nodes))} kernels", graph_bytes),
        ("tiles, 1 kernel", tile_bytes)]
draw_bars("Bytes to and from HBM, and how long that takes an A100",
          [Bar(name, (moved,), f"{moved / 1e6:.1f} MB, {1e6 * moved / a100.memory_rate:.1f} µs")
           for name, moved in rows])

# %% [markdown]
# Here is the answer to the question. All three do the same arithmetic. What differs is how often the matrix goes through
# the narrowest part of the machine. Once in and once out is the least possible.
#
# ## Is HBM really the narrowest?
#
# A kernel needs many parts of the GPU at once: HBM, the L2 cache, shared memory, arithmetic. They work side by side, so
# the slowest decides. This view is called the **roofline**.

# %%
report

# %%
roof = report.roofline
print(f"the kernel does {roof.intensity:.2f} operations for each byte from HBM; "
      f"below {roof.ridge:.1f} HBM is the limit")

# %% [markdown]
# Here HBM decides, and nothing that the compiler does with instructions can make this kernel faster. It can make it
# slower, though:

# %%
second = max((term for term in roof.terms if term is not roof.limiter), key=lambda term: term.seconds)
print(f"after {roof.limiter.name} comes {second.name}, with {100 * second.seconds / roof.seconds:.0f}% of the time")

# %% [markdown]
# If the compiler wrote so many instructions that this part became the narrowest, the kernel would not be memory bound any
# more. Chapters 9 to 11 are about avoiding that.
#
# **When does fusion not help?** A product of two n × n matrices does 2 n³ operations on 3 n² numbers. The larger it is,
# the more work there is for each byte:

# %%
for n in (16, 64, 256, 1024, 4096):
    intensity = 2 * n**3 / (3 * n**2 * 4)
    bound = "memory" if intensity < roof.ridge else "arithmetic"
    print(f"n = {n:>4}: {intensity:>6.1f} operations for each byte, bound by {bound}")

# %% [markdown]
# A large matrix product is bound by arithmetic, if each number is loaded only once or a few times. Getting there is the
# subject of chapter 10.

# %% [markdown]
# ## Change it
#
# 1. In `draw_warp`, let thread t read float `t + 1`. One more sector moves. Why?
# 2. Let all threads read the same float. How many sectors?
# 3. Call `profiled` with `gpu=GPUS["rtx4090"]`. That GPU has a larger L2 cache than the A100 and slower memory. Who is
#    faster on this softmax, at least on paper?
# 4. In the static graph, let `sum` join the kernel of its operand, as better compilers do. What is the traffic then?
#
# And one experiment here: how does the advantage depend on the number of columns?

# %%
for columns in (32, 128, 512, 1000, 2048):
    counted = profiled(softmax, np.ones((512, columns), np.float32))
    used = min(line.efficiency for line in counted.lines if line.efficiency is not None)
    print(f"{columns:>5} columns, {counted.resources.threads} threads: eager moves {counted.eager.bytes / counted.traffic.total:.2f} times as much; "
          f"the worst line uses {100 * used:.0f}% of what it moves; limited by {counted.roofline.limiter.name}")

# %% [markdown]
# The ratio hardly changes. What may change is the limit. With few columns each thread of a block loads little or nothing,
# and takes part in the steps of `max` and `sum` all the same.
#
# ## Your turn
#
# **1.** Write `sectors`: how many sectors of 32 bytes does a warp touch, if its threads read a 4-byte float each, at
# these byte addresses?

# %%
from course.checking_cells import check_array, check_function


def sectors(addresses):
    return len(addresses)              # write it


check_function(sectors, [(([4 * t for t in range(32)],), 4), (([8 * t for t in range(32)],), 8),
                         (([0] * 32,), 1), (([32 * t for t in range(32)],), 32), (([4 + 4 * t for t in range(32)],), 5)])

# %% [markdown]
# **2.** An eager library computes `relu(a * b + c)` with three kernels. Write it as one. `maximum(v, 0.0)` is the larger
# of two numbers. (The body below only adds.)

# %% active="ipynb"
# %%tile
# kernel fused[BLOCK = 1024](a: f32[N], b: f32[N], c: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
#     let i = program_id(0) * BLOCK +: BLOCK;
#     y[i] = a[i] + b[i] + c[i];
# }

# %%
a, b, c = np.random.default_rng(2).standard_normal((3, 100_000)).astype(np.float32)
check_array("fused", fused(a, b, c), np.maximum(a * b + c, 0))
counted = profiled(fused, a, b, c)
print(f"one kernel moves {counted.traffic.total / 1e6:.2f} MB, one for each operation {counted.eager.bytes / 1e6:.2f} MB")

# %% [markdown]
# ## In short
#
# - A GPU runs **blocks** of threads on its **SMs**. 32 threads are a **warp** and take each step together.
# - **Registers**, **shared memory**, **L2** and **HBM**: each is larger and slower than the one before.
# - Memory moves in **sectors** of 32 bytes. An access is **coalesced** if a warp needs few of them.
# - A kernel is **memory bound** if the data take longer than the arithmetic. The **roofline** says which.
# - **Eager** execution sends every intermediate result through HBM. **Fusion** keeps it in registers.
# - In a **tile** language the author decides what stays on the chip, and the compiler works out the threads.
#
# **Where this differs from a real GPU.** Our times are lower bounds: everything is assumed to overlap perfectly, and
# HBM to reach the rate on its data sheet, where 80 to 90 percent is usual. A launch costs a few microseconds, which
# decides for small arrays, and makes five kernels still worse against one. Between small eager kernels the L2 cache
# keeps some of the data, which our count ignores. And today's frameworks are hybrids: PyTorch runs eagerly, and
# `torch.compile` records a graph and writes Triton kernels for it.
#
# ## Further reading
#
# - NVIDIA, [*CUDA C++ Programming Guide*](https://docs.nvidia.com/cuda/cuda-c-programming-guide/): the chapters on the
#   programming model and on device memory accesses.
# - NVIDIA, *A100 Tensor Core GPU Architecture* (whitepaper, 2020): where the figures of this chapter come from.
# - S. Williams, A. Waterman, D. Patterson, *Roofline: an insightful visual performance model*, CACM 52(4), 2009.
# - M. Abadi and others, *TensorFlow: a system for large-scale machine learning*, OSDI 2016: static graphs.
# - A. Paszke and others, *PyTorch: an imperative style, high-performance deep learning library*, NeurIPS 2019: eager.
# - P. Tillet, H. T. Kung, D. Cox, *Triton*, MAPL 2019: tiles.
# - H. He, [*Making deep learning go brrrr from first principles*](https://horace.io/brrr_intro.html), 2022.
#
# Next: [chapter 2, five stages](02_five_stages.ipynb). A whole compiler in one notebook.
