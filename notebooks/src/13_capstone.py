# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 13: flash attention, on your own compiler
#
# A language model that reads 8192 words compares each with every other: 67 million numbers, in every head of every layer. In
# 32 bits that is a quarter of a gigabyte, written, read and thrown away again and again. In 2022 a kernel appeared that computes the same and
# never writes that matrix down. Today nearly all models run on its successors.
#
# **The question: how does one compute with a matrix that is never there?**
#
# This chapter derives the kernel step by step, writes it in the tile language, and compiles it with the functions that
# **you** have written for chapters 3 to 12.

# %%
import numpy as np

from course.pictures import Bar, draw_bars, draw_matrices
from tilelang.machine.gpus import GPUS
from tilelang.machine.profile import profile

# %load_ext tilelang.notebook
rng = np.random.default_rng(0)
a100 = GPUS["a100"]

# %% [markdown]
# ## What attention computes
#
# Each position of a text has three vectors of D numbers:
#
# - a **query** q: what this position is looking for,
# - a **key** k: what this position has to offer to those who look,
# - a **value** v: what it gives to those who find it.
#
# The **score** of a query and a key is their dot product. The softmax of a query's scores are its **weights**: shares that add
# up to 1. The result is the weighted mean of the values. The scores are multiplied by a scale first, 1 / √D; a dot product of D
# random numbers grows like √D, and without this the softmax would put all weight in one place.
#
# That is all, and with NumPy it is a few lines:

# %%
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q, k, v, scale, causal=False):
    """o[h] = softmax(q[h] @ k[h]^T * scale) @ v[h], for each head h."""
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


# %% [markdown]
# A toy: each word's query looks for one kind of word. The vectors are made by hand, a place for each kind.

# %%
words = ["the", "cat", "sat", "on", "its", "mat"]
kinds = np.eye(4)                                            # article, noun, verb, preposition
is_a = kinds[[0, 1, 2, 3, 0, 1]]
looks_for = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1]])
q_toy, k_toy = 4.0 * looks_for, is_a
weights = softmax(q_toy @ k_toy.T / 2)
behind = softmax(np.where(np.tri(6, dtype=bool), q_toy @ k_toy.T / 2, -np.inf))
draw_matrices(["weights (row: who looks)", "causal: nobody sees what comes later"], [weights, behind], rows=words, columns=words,
              cell=34)

# %% [markdown]
# "sat" looks for nouns, and finds "cat" and "mat". A model that writes text must not look ahead: its attention is **causal**, and
# everything above the diagonal is -inf before the softmax. In a real model the vectors are learned, and there are many
# **heads**, which do this side by side with different vectors.
#
# ## What it costs, done eagerly
#
# Eagerly each of these operations is a kernel of its own that reads and writes HBM. Look at what depends on the length N: q, k,
# v and the result have N x D numbers, the scores N x N.

# %%
def eager_bytes(heads, n, d, size=4):
    """(operation, bytes read and written) of attention as NumPy does it, without the mask."""
    vectors, scores, column = heads * n * d * size, heads * n * n * size, heads * n * size
    return [("q @ k^T", 2 * vectors + scores), ("* scale", 2 * scores), ("max", scores + column),
            ("subtract", 2 * scores + column), ("exp", 2 * scores), ("sum", scores + column),
            ("divide", 2 * scores + column), ("@ v", scores + 2 * vectors)]


HEADS, D = 12, 64
moved = {n: sum(b for _, b in eager_bytes(HEADS, n, D)) for n in (1024, 2048, 4096, 8192)}
draw_bars(f"Eager attention, {HEADS} heads of {D}: bytes to and from HBM, and the least time that takes an A100",
          [Bar(f"N = {n:,}", (b / 1e9,), f"{b / 1e9:.2f} GB, {1e3 * b / a100.memory_rate:.2f} ms") for n, b in moved.items()])

# %%
for n in moved:
    print(f"N = {n:>5,}: q, k, v and o together have {4 * HEADS * n * D * 4 / 1e6:>5.1f} MB")

# %% [markdown]
# Twice the length, four times the bytes. What must be moved at least, q, k, v and o, only doubles.
#
# A kernel that fuses all of it would be the solution. The softmax is in the way: a weight is known only when *all* scores of
# its row are known, since they are divided by the sum of all. A row of 8192 scores for 64 queries does not fit on an SM. So it
# seems that they must be written down, and read again when the sum is known.
#
# ## Step by step: a softmax that need not wait
#
# **Step 1: sums can wait for their scale.** Forget about overflow for a moment. The result for one query with scores s₁, s₂, … is
#
#            exp(s₁) v₁ + exp(s₂) v₂ + …
#      o  =  ---------------------------
#               exp(s₁) + exp(s₂) + …
#
# Above and below the line stand plain sums. They can be added up block after block, and divided at the end. Nothing needs to
# be kept but two sums:

# %%
s, values = rng.standard_normal(12), rng.standard_normal((12, 3))
exact = softmax(s) @ values

total, weighted = 0.0, np.zeros(3)
for start in range(0, 12, 4):
    block = slice(start, start + 4)
    e = np.exp(s[block])
    total = total + e.sum()
    weighted = weighted + e @ values[block]
print(weighted / total)
print(exact)

# %% [markdown]
# **Step 2: the largest score.** `exp` of 89 is the last that 32 bits can hold. That is why the maximum is subtracted, and the
# maximum is known only at the end, too.

# %%
big = np.array([30, 100, 95, 20], np.float32)
with np.errstate(over="ignore", invalid="ignore"):
    print("plain:          ", np.exp(big) / np.exp(big).sum())
print("with the maximum:", softmax(big))

# %% [markdown]
# **Step 3: subtract the best so far, and mend it later.** Say we subtracted m, and then find a larger score m'. What was
# added up so far should have had m' in its place. But
#
#      exp(s - m')  =  exp(s - m) · exp(m - m')
#
# so *one* factor for everything mends it. This is the whole trick, called **online softmax**:

# %%
def online(s, values, size):
    """softmax(s) @ values, in blocks; also how often the best score grew."""
    best, total, weighted, grew = -np.inf, 0.0, np.zeros(values.shape[1]), 0
    for start in range(0, len(s), size):
        block, v = s[start:start + size], values[start:start + size]
        top = max(best, block.max())
        grew += top > best
        faded = np.exp(best - top)                  # 1 if the best stays, 0 for the first block
        e = np.exp(block - top)
        total = total * faded + e.sum()
        weighted = weighted * faded + e @ v
        best = top
    return weighted / total, grew


for size in (1, 3, 4, 12):
    found, grew = online(s, values, size)
    print(f"blocks of {size:>2}: largest difference {abs(found - exact).max():.1e}, the best grew {grew} times")

# %% [markdown]
# **Step 4: believe it.** Does it hold for scores in the hundreds, for any way to cut the row, whatever the order?

# %%
worst = 0.0
for _ in range(500):
    n = int(rng.integers(1, 200))
    s, values = rng.standard_normal(n) * 10 ** rng.uniform(-1, 2.5), rng.standard_normal((n, 3))
    found, _ = online(s, values, int(rng.integers(1, n + 1)))
    worst = max(worst, abs(found - softmax(s) @ values).max())
print(f"500 rows with scores up to the hundreds, cut at random: largest difference {worst:.1e}")

# %% [markdown]
# What happens to one row on the way? The sum grows with every block, and shrinks when a new best is found. The result is right
# all the same.

# %%
rising = np.array([1.0, 0.5, 3.0, 2.0, 2.5, 6.0, 1.0, 5.0])
best, total, rows = -np.inf, 0.0, []
for place, score in enumerate(rising):
    top = max(best, score)
    total = total * np.exp(best - top) + np.exp(score - top)
    best = top
    rows.append(Bar(f"score {score}", (total,), f"best {best}, sum {total:.3f}" + (", rescaled" if top == score and place else "")))
draw_bars("The sum of exponentials, one score after another", rows)

# %% [markdown]
# ## The pieces
#
# In the kernel a program owns BM queries of one head. Its scores with BN keys are one `dot`. We write the pieces as kernels of
# their own first, and check each.

# %% active="ipynb"
# %%tile
# # Piece 1: a tile of scores. Rows are queries, columns are keys.
# kernel tile_of_scores[BM = 32, BN = 32, WIDTH = next_pow2(D)](q: f32[M, D], k: f32[N, D], scale: f32, out s: f32[M, N])
#     grid (cdiv(M, BM), cdiv(N, BN))
# {
#     let rows  = program_id(0) * BM +: BM;
#     let keys  = program_id(1) * BN +: BN;
#     let width = 0 +: WIDTH;
#     s[rows, keys] = dot(q[rows, width], transpose(k[keys, width])) * scale;
# }
#
# # Piece 2: the whole row in one block.
# kernel small_attention[BM = 32, BN = next_pow2(N), WIDTH = next_pow2(D)]
#     (q: f32[M, D], k: f32[N, D], v: f32[N, D], scale: f32, out o: f32[M, D]) grid (cdiv(M, BM))
# {
#     let rows   = program_id(0) * BM +: BM;
#     let keys   = 0 +: BN;
#     let width  = 0 +: WIDTH;
#     let scores = dot(q[rows, width], transpose(k[keys, width])) * scale;
#     let seen   = select(keys[None, :] < N, scores, -inf);        # keys past the end must not count
#     let e      = exp(seen - max(seen, axis=1)[:, None]);
#     o[rows, width] = dot(e, v[keys, width]) / sum(e, axis=1)[:, None];
# }

# %%
q, k, v = (rng.standard_normal((50, 20)).astype(np.float32) for _ in range(3))
print("piece 1:", abs(tile_of_scores(q, k, 0.2) - q @ k.T * 0.2).max())
print("piece 2:", abs(small_attention(q, k, v, 0.2) - attention(q, k, v, 0.2)).max())

# %% [markdown]
# Why `select(keys < N, ...)`? Outside the array a load gives 0, and the score 0 is a score like any other: it would get a
# weight. -inf gets none.
#
# ## The kernel
#
# Now the loop of step 3 around piece 2. `best`, `total` and `acc` stay in registers; only q, k, v come in and only o goes out.
# Two things for causal attention: the mask, and the end of the loop. A block of keys that none of this program's
# queries sees is not even read.

# %% active="ipynb"
# %%tile
# kernel flash[T: {f32, f16}, CAUSAL: {false, true}, BM: {32, 16, 64}, BN: {32, 16, 64}, WIDTH = next_pow2(D), warps: {4, 8}]
#     (q: T[H, M, D], k: T[H, N, D], v: T[H, N, D], scale: f32, out o: T[H, M, D]) grid (cdiv(M, BM), H)
# {
#     let head  = program_id(1);
#     let rows  = program_id(0) * BM +: BM;
#     let width = 0 +: WIDTH;
#     let query = q[head, rows, width];
#
#     var best  = full([BM], -inf, f32);                           # of each query: the best score so far,
#     var total = zeros([BM], f32);                                # the sum of exponentials,
#     var acc   = zeros([BM, WIDTH], f32);                         # the weighted sum of values
#     let end   = select(CAUSAL, minimum(N, (program_id(0) + 1) * BM), N);
#     for start in range(0, end, BN) {
#         let keys   = start +: BN;
#         let scores = dot(query, transpose(k[head, keys, width])) * scale;
#         let past   = not CAUSAL or keys[None, :] <= rows[:, None];
#         let seen   = select(keys[None, :] < N and past, scores, -inf);
#         let top    = maximum(best, max(seen, axis=1));
#         let faded  = exp(best - top);
#         let e      = exp(seen - top[:, None]);
#         total = total * faded + sum(e, axis=1);
#         acc   = dot(e as T, v[head, keys, width], acc * faded[:, None]);
#         best  = top;
#     }
#     o[head, rows, width] = (acc / total[:, None]) as T;
# }

# %% [markdown]
# ## Compiled by you
#
# `course.installed` puts your functions into the compiler: those that have passed their graders, as they stand now. What you have not
# written yet is the compiler's own. The list says for each stage whose it is.

# %%
import course
import tilelang

with course.installed(only_done=True) as mine:
    print(mine)

# %% [markdown]
# Now the kernel, compiled inside, on three devices. The lengths are ragged on purpose: no tile divides them.

# %%
def inputs(heads, m, n, d, dtype=np.float32):
    return [rng.standard_normal((heads, length, d)).astype(dtype) for length in (m, n, n)]


source = flash.compile(*inputs(1, 4, 4, 4), 1.0, device="reference").source.text
with course.installed(only_done=True) as mine:
    yours = tilelang.compile(source)["flash"]
    print(f"{'H':>3} {'M':>4} {'N':>4} {'D':>4}  causal   " + "".join(f"{device:>12}" for device in ("reference", "cpu", "model")))
    for heads, m, n, d, causal in ((2, 64, 64, 32, False), (1, 37, 101, 20, False), (3, 70, 70, 33, True), (1, 1, 50, 8, False),
                                   (2, 45, 45, 16, True), (1, 1, 1, 1, True)):
        arrays, scale = inputs(heads, m, n, d), d**-0.5
        expected = attention(*(a.astype(np.float64) for a in arrays), scale, causal)
        errors = [abs(yours(*arrays, scale, CAUSAL=causal, device=device) - expected).max()
                  for device in ("reference", "cpu", "model")]
        print(f"{heads:>3} {m:>4} {n:>4} {d:>4}  {causal!s:<6}   " + "".join(f"{error:>12.1e}" for error in errors))
print("functions of yours in this compiler:", mine.count)

# %% [markdown]
# The numbers are the largest differences from a computation in 64 bits. A wrong kernel, or a wrong function of yours that its grader has missed, would
# show here.
#
# ## Did the matrix go away?
#
# The model counts what the kernel asks of HBM. The eager version is the model's own count, from the same tile IR. (To stay quick this
# is two heads, and of the programs only some are run.)

# %%
def profiled(n, heads=2, d=64, dtype=np.float32, causal=False, kernel=flash):
    arrays = [np.zeros((heads, n, d), dtype) for _ in range(3)]
    settings = {"CAUSAL": causal, "BM": 32, "BN": 32}
    launch = kernel.prepare(*arrays, d**-0.5, device="model", **settings)
    stages = kernel.compile(*arrays, d**-0.5, target="sm_80", **settings)
    return profile(stages.thread_ir, stages.optimized, a100, launch.arguments, launch.dims, launch.grid, stages.source,
                   budget=2_000_000)


reports = {n: profiled(n) for n in (256, 512, 1024)}
draw_bars("Bytes to and from HBM, two heads of 64",
          [bar for n, r in reports.items() for bar in
           (Bar(f"N = {n:,}, eager", (r.eager.bytes / 1e6,), f"{r.eager.bytes / 1e6:.1f} MB"),
            Bar(f"N = {n:,}, fused", (r.traffic.total / 1e6,), f"{r.traffic.total / 1e6:.2f} MB: "
                                                            f"{r.eager.bytes / r.traffic.total:.0f} times less"))])

# %% [markdown]
# The scores are gone. Every program reads all keys and values of its head again, but those of one head fit into the L2 cache,
# and HBM hardly sees it. With the causal mask nearly half of the blocks are left out:

# %%
def blocks_of_scores(n, size=32, causal=False):
    """How many BM x BN blocks all programs of a head compute."""
    programs = range(-(-n // size))
    return sum(-(-(min(n, (p + 1) * size) if causal else n) // size) for p in programs)


for n in (64, 256, 1024, 4096):
    some, every = blocks_of_scores(n, causal=True), blocks_of_scores(n)
    print(f"N = {n:>5,}: {some:>6,} of {every:>6,} blocks, {100 * some / every:.0f}%")

# %% [markdown]
# ## What limits it now?

# %%
full = reports[1024]
roof = full.roofline
print(f"{roof.intensity:.0f} operations for each byte from HBM; HBM would be the limit below {roof.ridge:.0f}")
draw_bars("What each part of an A100 needs at least, N = 1,024, f32",
          [Bar(term.name, (1e6 * term.seconds,), f"{1e6 * term.seconds:.1f} µs") for term in roof.terms if term.seconds],
          logarithmic=True)

# %% [markdown]
# HBM is no longer the problem. The kernel is bound by what happens *inside* the SM: shared memory, instructions, arithmetic. This is
# where chapters 9 to 11 earn their keep, and where the successors of the first flash attention kernel have found their
# factors.
#
# ## What tensor cores change
#
# With half floats both products can run on tensor cores (chapters 9 and 11): a warp multiplies whole tiles in one
# instruction. Nothing changes in the kernel but the element type. The sums stay in 32 bits.

# %%
half = profiled(1024, dtype=np.float16)
print(f"{'':<22} {'f32':>10} {'f16':>10}")
for name in ("HBM", "L2", "shared memory", "f32 arithmetic", "integer arithmetic", "special functions", "tensor cores",
             "instruction issue"):
    both = [next(term.seconds for term in r.roofline.terms if term.name == name) for r in (full, half)]
    print(f"{name:<22} " + " ".join(f"{1e6 * seconds:>7.1f} µs" for seconds in both))
print(f"{'at least':<22} " + " ".join(f"{1e6 * r.roofline.seconds:>7.1f} µs" for r in (full, half)))
print(f"{'no kernel can beat':<22} " + " ".join(f"{1e6 * r.roofline.light:>7.1f} µs" for r in (full, half)))

# %%
from course.machine_code import compare_gpu

versions = {}
for dtype in (np.float32, np.float16):
    arrays = [np.zeros((2, 1024, 64), dtype) for _ in range(3)]
    versions[np.dtype(dtype).name] = flash.compile(*arrays, 0.125, target="sm_80", BM=32, BN=32)
compare_gpu(versions, "HMMA", "FFMA", "MUFU.EX2", "LDS", "BAR", "LDL")

# %% [markdown]
# The products are `HMMA` now; the `FFMA` that are left belong to the exponentials and the rescaling. The distance between "at least" and "no kernel can beat" is what is left to win, and it is large: a product
# on tensor cores is so fast that feeding them is the hard part. Half floats also cost exactness:

# %%
arrays = inputs(2, 128, 128, 64)
truth = attention(*(a.astype(np.float64) for a in arrays), 0.125)
halves = [a.astype(np.float16) for a in arrays]
for name, found in (("f32", flash(*arrays, 0.125, device="cpu")), ("f16", flash(*halves, 0.125, device="cpu"))):
    print(f"{name}: largest error {abs(found - truth).max():.1e}")

# %% [markdown]
# ## Change it
#
# 1. In `flash`, replace `faded` in the line with `acc` by 1.0. Which of the lengths in the table above are still right? Why?
# 2. Subtract nothing: `exp(seen)`. What comes out for `30 * q`, and why?
# 3. Set `BM=64, BN=16` in `profiled`. What happens to the bytes asked of L2? To shared memory?
# 4. Take the end of the loop away for causal (`let end = N;`). Is it still right? What does it cost?
# 5. Which is the largest N for which the eager scores of one head fit in the L2 cache of an A100?
#
# ## Your turn: the capstone
#
# When a model writes, it does not compute everything anew for every word. It keeps k and v of all earlier positions, the **KV
# cache**, and computes attention only for the new queries. And to make that cache smaller, several heads share their keys and values (*grouped
# queries*). Write that kernel, in [`course/ch13_capstone/attention.tile`](../course/ch13_capstone/attention.tile); its comment says exactly what it
# must compute. The grader compiles it **with your functions in the compiler**, checks values on many shapes, what it touches, and what it
# reads.

# %%
from course.checking_cells import grade_capstone

grade_capstone()

# %% [markdown]
# In a terminal: `tilec course grade ch13`, and `tilec course hint ch13`.
#
# ## In short
#
# - **Attention** is a weighted mean of values; the weights are the softmax of the scores of a query with all keys.
# - Eagerly its traffic grows with the square of the length. What must be moved grows only with the length.
# - **Online softmax** subtracts the best score so far, and mends what was added up with one factor when a better one comes.
# - The fused kernel keeps best, sum and weighted sum in registers. The matrix of scores is never in memory.
# - A **causal** mask hides what comes later, and lets whole blocks be left out.
# - Fused attention is bound by what happens inside an SM. **Tensor cores** move the limit, and make feeding them the problem.
#
# And this kernel has gone through your lexer's rules, your parser, your types, your passes, your layouts and your code
# generation, as far as you have written them. When `tilec course` says that all is done, there is no stage left of which you
# do not know how it works.
#
# **Where this differs from the real thing.** The kernel of this chapter is the algorithm of FlashAttention 2: the loop over keys
# inside, one program for a block of queries. The published kernels also need the *backward* pass, which computes the scores a second time in place of
# keeping them. On newer GPUs they overlap loads, tensor cores and exponentials, by giving warps different roles (FlashAttention 3), and use 8-bit floats. For
# one query and a long cache there are too few programs to fill a GPU, so the keys are split among programs and the parts merged by the rule of step 3
# (*flash decoding*). Our times are lower bounds from a model; nothing in this course has been run on a GPU.
#
# ## Further reading
#
# - A. Vaswani and others, *Attention is all you need*, NeurIPS 2017.
# - M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax*, arXiv:1805.02867, 2018: step 3.
# - M. Rabe, C. Staats, *Self-attention does not need O(n²) memory*, arXiv:2112.05682, 2021.
# - T. Dao and others, *FlashAttention: fast and memory-efficient exact attention with IO-awareness*, NeurIPS 2022.
# - T. Dao, *FlashAttention-2: faster attention with better parallelism and work partitioning*, ICLR 2024.
# - J. Shah and others, *FlashAttention-3: fast and accurate attention with asynchrony and low-precision*, NeurIPS 2024.
# - N. Shazeer, *Fast transformer decoding: one write-head is all you need*, arXiv:1911.02150, 2019; J. Ainslie and others, *GQA*,
#   EMNLP 2023: heads that share keys and values.
# - [Triton's tutorial on fused attention](https://triton-lang.org/main/getting-started/tutorials/06-fused-attention.html): the same kernel in
#   the language that inspired ours.
#
# The end. The kernels in [`course/kernels`](../course/kernels) and the puzzles in [`course/puzzles`](../course/puzzles) are waiting; and
# [`tilelang/driver.py`](../tilelang/driver.py) has room for a pass of your own.
