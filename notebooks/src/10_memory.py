# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 10: memory
#
# One kernel copies 60000 numbers. It is called with two arrays of that length. The second time it moves several times as many
# bytes, though it is the same code and the same number of loads.
#
# **The question: what does an access really cost, and what can a compiler do about it?**
#
# The golden rule of this chapter: *fetch each number from HBM once, in whole sectors, with wide accesses, and pass it around on
# the chip*. Each section is about one part of this sentence. All counts come from the machine model, which runs the compiled
# threads and watches every access.

# %%
from dataclasses import replace
from unittest.mock import patch

import numpy as np

import tilelang
from course.extra import swizzled
from course.pictures import Bar, Cell, Point, Span
from course.pictures import draw_banks, draw_bars, draw_cells, draw_roofline, draw_timeline, draw_warp
from tilelang.ir.core import Block
from tilelang.machine.execute import execute
from tilelang.machine.gpus import GPUS
from tilelang.machine.lanes import Lanes
from tilelang.machine.profile import profile
from tilelang.machine.traffic import wavefronts
from tilelang.memory.axis import AxisAnalysis
from tilelang.memory.barriers import place_barriers
from tilelang.memory.shared import live_ranges
from tilelang.tiling.bank_plans import plan_banks
from tilelang.tiling.mma import Swizzle
from tilelang.tiling.targets import TARGETS
from tilelang.tiling.vectors import choose_vectors

# %load_ext tilelang.notebook
a100 = GPUS["a100"]
random = np.random.default_rng(0)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def profiled(kernel, *arrays, target=a100.target, **metas):
    """Run a kernel on the model of an A100."""
    launch = kernel.prepare(*arrays, device="model", **metas)
    stages = kernel.compile(*arrays, target=target, **metas)
    return profile(stages.thread_ir, stages.optimized, a100, launch.arguments, launch.dims, launch.grid, stages.source)


# %% [markdown]
# ## Sectors: whose neighbours are neighbours?
#
# Memory moves in sectors of 32 bytes. A warp makes one access for its 32 lanes together, and pays for the sectors that are
# touched. (Chapter 1 has the first pictures of this.)

# %% active="ipynb"
# %%tile
# kernel copy[BLOCK = 1024](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
#     let i = program_id(0) * BLOCK +: BLOCK;
#     y[i] = x[i];
# }

# %% [markdown]
# The kernel says nothing about where `x` lies. We call it with three arrays of the same length: one that is contiguous, every
# second number of a larger one, and a column of a matrix. To see what a warp asks for, we let the model tell us about its first
# access:

# %%
N = 60_001                             # an awkward number; why, we shall see below
arrays = {
    "contiguous": floats(N),
    "every second": floats(2 * N)[::2],
    "a column of 16": floats(N, 16)[:, 3],
}


def first_addresses(kernel, *arrays, name="x", **metas):
    """The byte addresses of the first access of warp 0 to tensor `name`, from 0."""
    launch = kernel.prepare(*arrays, device="model", **metas)
    compiled = kernel.compile(*arrays, target=a100.target, **metas)
    seen = []

    def watch(cells, access):
        if cells.array.name == name and not seen:
            seen.append([int(p) * cells.data.itemsize for p in access.lanes.spread(access.position)[:32]])

    execute(compiled.thread_ir, launch.arguments, launch.dims, launch.grid, programs=np.array([0]), watch=watch)
    return [address - min(seen[0]) for address in seen[0]]


draw_warp(first_addresses(copy, arrays["contiguous"]), 4, "contiguous")

# %%
draw_warp(first_addresses(copy, arrays["every second"]), 4, "every second")

# %%
draw_warp(first_addresses(copy, arrays["a column of 16"]), 4, "a column of 16")

# %% [markdown]
# And for the whole launch:

# %%
for name, array in arrays.items():
    report = profiled(copy, array)
    wanted = array.size * array.itemsize
    print(f"{name:<15} {report.traffic.read / 1e6:>5.2f} MB read from HBM for {wanted / 1e6:.2f} MB of numbers "
          f"({100 * wanted / report.traffic.read:.0f}%); at least {1e6 * report.roofline.seconds:.1f} µs")

# %% [markdown]
# That answers the first question. An access is **coalesced** if the lanes of a warp share sectors. The layout of chapter 9 gives
# neighbouring elements to neighbouring lanes for this reason. A compiler can do no more when neighbours of the *tile* are no
# neighbours in *memory*. The author can: choose the tile along the other axis, or read a tile of the matrix and transpose it on the
# chip.

# %% active="ipynb"
# %%tile
# kernel by_elements[BLOCK = 1024](x: f32[M, N], out y: f32[N, M]) grid (cdiv(M * N, BLOCK)) {
#     let e = program_id(0) * BLOCK +: BLOCK;
#     y[[e % N, e // N]] = x[[e // N, e % N]];        # element by element
# }
# kernel by_tiles[B = 32](x: f32[M, N], out y: f32[N, M]) grid (cdiv(M, B), cdiv(N, B)) {
#     let rows = program_id(0) * B +: B;
#     let cols = program_id(1) * B +: B;
#     y[cols, rows] = transpose(x[rows, cols]);       # turned on the chip
# }

# %%
picture = floats(500, 700)
bars = []
for kernel in (by_elements, by_tiles):
    assert (kernel(picture, device="model") == picture.T).all()
    report = profiled(kernel, picture)
    moved = 32 * report.total.sectors
    bars.append(Bar(kernel.name, (moved,), f"{moved / 1e6:.1f} MB, {100 * report.total.efficiency:.0f}% used"))
draw_bars("A transpose: bytes that warps ask of global memory", bars)

# %% [markdown]
# ## Wide accesses: 16 bytes a lane
#
# A GPU has loads of 4, 8 and 16 bytes. 32 lanes with 4 bytes each fill 4 sectors, with 16 bytes 16. The bytes are the same,
# but there are a quarter as many **instructions**: to issue, and to compute addresses for. The conditions are strict. The elements of a lane
# must be neighbours, the first must lie at a multiple of 16 bytes, and either all or none of them may be inside the tensor. If a
# 16-byte load is not aligned, the GPU stops with an error. So the compiler has to *prove* it.
#
# The proof is the **axis analysis** ([`tilelang/memory/axis.py`](../tilelang/memory/axis.py)). For each value of the tile IR it knows three
# things along the last axis: do neighbours count up by one? in runs of which length are all elements alike? which power of two divides
# them? It starts from **facts** about the launch. Here they are for a good array:

# %%
def with_facts(compiled):
    """The optimised kernel, with what is known about the launch."""
    kernel = compiled.optimized
    return replace(kernel, attrs={**kernel.attrs, **dict(compiled.facts)})


good = copy.compile(floats(4096), target="sm_80")
for name, value in good.facts:
    print(f"{name:<20} {value}")

# %%
analysis = AxisAnalysis(with_facts(good))
print(f"{'':<14} {'counts up':<10} {'alike in runs of':<17} divisible by")
for op in good.optimized.walk():
    for value in op.results:
        known = analysis.of(value)
        print(f"{f'%{value.name}':<14} {'yes' if known.counts else '-':<10} {known.alike:<17} {known.divisor}")

# %% [markdown]
# `%i` counts up, from a multiple of 16: 1024 times anything is one. `x` begins at a multiple of 16 bytes, its neighbours are
# neighbours in memory, and `N` is a multiple of 16, so a group of four is inside or outside as a whole. Four floats at once are
# proved. Now take one condition away at a time:

# %%
cases = {
    "4096 floats": floats(4096),
    "from the second on": floats(4097)[1:],
    "4094 floats": floats(4094),
    "every second": floats(8192)[::2],
    "backwards": floats(4096)[::-1],
}
for name, array in cases.items():
    compiled = copy.compile(array, target="sm_80")
    found = AxisAnalysis(with_facts(compiled))
    widths = {op.name: found.width(op, 16) for op in compiled.optimized.walk() if op.name in ("load", "store")}
    report = profiled(copy, array)
    accesses = sum(count for op, count in report.instructions.items() if op.startswith("global."))
    print(f"{name:<19} elements at once: load {widths['load']}, store {widths['store']};  "
          f"{accesses:>4.0f} accesses of a warp, {report.total.sectors:>6.0f} sectors")

# %% [markdown]
# Three things to note.
#
# - *From the second on* is wide on our host: the array is copied to the GPU, and its first element comes to an aligned place. An array that
#   is on the GPU already would be refused.
# - *4094* is refused, for the last group of four would reach over the edge. One number more or less in an array decides
#   about the code. That is why people round their sizes up.
# - *Every second* has one access that may be wide and one that may not; so has *backwards*. Both would use the same layout, four neighbours to
#   a lane. The store would gain, but the load would lose: its lanes would be four times as far apart, and ask for more sectors. To choose a layout
#   for several accesses is a trade. Here as many lose as gain, and [`vectors.py`](../tilelang/tiling/vectors.py) leaves both as they are.
#
# The analysis refuses rather than guesses: without facts it knows nothing, and then everything is done one by one.

# %%
unknown = AxisAnalysis(good.optimized)
accesses = [op for op in good.optimized.walk() if op.name in ("load", "store")]
print("without facts:", {op.name: unknown.width(op, 16) for op in accesses})

# %% [markdown]
# ## Shared memory and its banks
#
# What is used more than once, or by another thread, is kept in **shared memory**. It is many times as fast as HBM, with one
# peculiarity. It has 32 **banks**, each 4 bytes wide, side by side: word `w` is in bank `w % 32`. In one pass each bank gives one word,
# to as many lanes as want it. If lanes want *different* words of one bank, they wait for each other: a **bank conflict**.
#
# A tile of 32 x 32 floats, row by row. A warp reads a row:

# %%
lanes = np.arange(32)
draw_banks([int(word) for word in lanes], "lane t reads row 0, column t")

# %% [markdown]
# And a column. Every 32nd word is in the same bank:

# %%
draw_banks([int(word) for word in 32 * lanes], "lane t reads row t, column 0")

# %% [markdown]
# Two remedies. **Padding**: make rows 33 long, and a column goes through all banks.

# %%
draw_banks([int(word) for word in 33 * lanes], "padded: lane t reads word 33 t")

# %% [markdown]
# **Swizzling**: leave every row in its place, but let columns change places inside of it, in each row differently, by an exclusive or
# with the row's number. Here are the first 8 x 8 elements, each with the bank it is in. Look down a column:

# %%
def banks_of(place, title):
    def cell(row, column):
        word = place(row, column)
        return Cell(word % 32 % 8, str(word % 32), f"word {word}")

    return draw_cells((8, 8), cell, title)


banks_of(lambda r, c: 32 * r + c, "plain: the bank of each element")

# %%
banks_of(lambda r, c: 33 * r + c, "padded")

# %%
banks_of(lambda r, c: swizzled(r, c, 32), "swizzled")

# %% [markdown]
# The model's count of passes, for rows, columns and something in between, a warp that reads 4 x 8 elements:

# %%
places = {"plain": lambda r, c: 32 * r + c, "padded": lambda r, c: 33 * r + c,
          "swizzled": lambda r, c: swizzled(r, c, 32)}
reads = {"row": [(5, t) for t in range(32)], "column": [(t, 5) for t in range(32)],
         "4 x 8": [(t // 8, t % 8) for t in range(32)], "8 x 4": [(t // 4, t % 4) for t in range(32)]}
print(f"{'':<10}", *(f"{name:>8}" for name in reads), f"{'words':>8}  every row begins at a multiple of 16 bytes")
for name, place in places.items():
    passes = [wavefronts(np.array([[[place(r, c) for r, c in cells]]]), 4, Lanes((1, 1, 32)))[0]
              for cells in reads.values()]
    words = 1 + max(place(r, c) for r in range(32) for c in range(32))
    aligned = all(min(place(r, c) for c in range(32)) % 4 == 0 for r in range(32))
    print(f"{name:<10}", *(f"{n:>8}" for n in passes), f"{words:>8}  {aligned}")

# %% [markdown]
# Padding is easy to think of. It takes memory, and it shifts rows away from multiples of 16 bytes, which rules out the wide
# accesses that this chapter wants. A swizzle costs nothing but an `xor` in the address. But it makes no access conflict-free that you did not
# think of: it is chosen for the patterns that occur.
#
# ### The compiler's swizzle
#
# Tensor cores read with `ldmatrix` (chapter 9): eight lanes give the addresses of eight rows, 16 bytes each. So what must change places are
# **chunks** of 16 bytes, 8 halves. Each chunk covers four banks; eight of them all 32. Here are rows of 64 halves. A cell says
# which chunk of its row is stored there:

# %%
def chunks_of(swizzle, rows=8):
    across = swizzle.columns // 8
    stored = {swizzle.chunk_position(row, chunk) // 8: chunk for row in range(rows) for chunk in range(across)}
    return draw_cells((rows, across), lambda r, c: Cell(stored[r * across + c], str(stored[r * across + c])),
                      f"rows of {swizzle.columns} halves: the chunk that is stored at each place", size=34)


chunks_of(Swizzle(64))

# %% [markdown]
# Read the colour of one chunk from top to bottom: it is in another column in every row, so eight rows at one chunk touch all
# banks once. If rows are shorter, several of them fill the banks, and only those that meet must differ:

# %%
chunks_of(Swizzle(32))

# %% [markdown]
# Is it worth it? We switch it off, with one line, and let the model count. `T` is the element type of this product; with `f16` it runs on tensor
# cores.

# %% active="ipynb"
# %%tile --program library
# kernel product[T: {f16, f32}, B: {32, 64}, BK = 32, stages: {1, 2, 3, 4}](a: T[M, K], b: T[K, N], out c: f32[M, N])
#        grid (cdiv(M, B), cdiv(N, B)) {
#     let rows = program_id(0) * B +: B;
#     let cols = program_id(1) * B +: B;
#     var acc  = zeros([B, B], f32);
#     for k in range(0, K, BK) {
#         acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
#     }
#     c[rows, cols] = acc;
# }

# %%
SIZE = 256
left, right = (random.standard_normal((SIZE, SIZE)).astype(np.float16) for _ in range(2))


def fresh_product():
    """The kernel, compiled anew: a program remembers what it compiled."""
    return tilelang.compile(library.source.text)["product"]


swizzled_report = profiled(fresh_product(), left, right, stages=1)
with patch.object(Swizzle, "turn", lambda self, row: row * 0):
    plain_report = profiled(fresh_product(), left, right, stages=1)
for name, report in (("swizzled", swizzled_report), ("not swizzled", plain_report)):
    print(f"{name:<13} {report.total.shared:,.0f} accesses to shared memory take {report.total.wavefronts:,.0f} passes, "
          f"{report.total.conflicts:,.0f} of them for conflicts; {report.resources.shared:,} bytes")

# %% [markdown]
# The same memory, the same number of accesses, only the order in a row is different.
#
# ### Tiles that are turned
#
# Operands of products are not the only tiles that are written in one order and read in another. The transpose from above is written
# by rows and read by columns. For such tiles the compiler does not have one swizzle: it finds one
# ([`bank_plans.py`](../tilelang/tiling/bank_plans.py)). It knows which elements the lanes of a warp write in one access, and which they read.
# A bit of the lane's number is a bit of the element's number, in both; so it takes the bits that number the rows, one by one, and *folds* each
# into one of the bits that number the banks, such that both accesses spread. For our floats it chose:

# %%
def planned(kernel, *arrays):
    """The tiles that do not lie in shared memory row by row, and how they lie."""
    tile = with_facts(kernel.compile(*arrays, target="sm_80"))
    return plan_banks(tile, 128, choose_vectors(tile, TARGETS["sm_80"], 128).widths)


((tile, layout),) = planned(by_tiles, picture).items()
print(f"%{tile.name}: {layout}")
banks_of(lambda r, c: layout.position(32 * r + c), "the first 8 x 8 elements: their banks")

# %% [markdown]
# Every pair says: this bit of the element's number is exclusive-ored into that one. Where extents are no powers of two, bits of lanes are not bits
# of elements, and the compiler pads instead. Does it help? The decision is one function, so we can replace it by one that decides nothing:

# %%
def fresh_by_tiles():
    return tilelang.compile(by_tiles.front.source.text)["by_tiles"]


folded_report = profiled(fresh_by_tiles(), picture)
with patch("tilelang.tiling.lower.plan_banks", lambda *arguments, **options: {}):
    rows_report = profiled(fresh_by_tiles(), picture)
for name, report in (("folded", folded_report), ("row by row", rows_report)):
    print(f"{name:<11} {report.total.shared:,.0f} accesses to shared memory take {report.total.wavefronts:,.0f} passes, "
          f"{report.total.conflicts:,.0f} of them for conflicts; limited by {report.roofline.limiter.name}")

# %% [markdown]
# How much that brings, the *limiter* tells. While a kernel waits for HBM, nobody notices a conflict; once shared memory is the limit, each one counts.
#
# ## Barriers: who must wait for whom
#
# One thread writes into shared memory, another reads. They run independently, so in between all have to wait at a
# **barrier**. Where exactly? Too few, and the result is wrong now and then. Too many, and the threads idle. The pass
# [`barriers.py`](../tilelang/memory/barriers.py) goes through the thread IR with the set of accesses since the last barrier, and puts a barrier in
# front of a statement only if it conflicts with one of them. Read after write, write after read, write after write: all three can go wrong.

# %% active="ipynb"
# %%tile
# kernel mix(x: f32[16, 16], out y: f32[16, 16]) grid (1) {
#     let i = 0 +: 16;
#     var v = x[i, i];
#     for k in range(0, 3) {
#         v = v * 0.5 + transpose(v);
#     }
#     y[i, i] = v;
# }

# %%
def rebuilt(kernel, change):
    """The kernel with `change(ops) -> ops` applied to every list of ops, from the inside out."""

    def block(b):
        return Block(b.args, tuple(change([replace(op, blocks=tuple(map(block, op.blocks))) for op in b.ops])))

    return replace(kernel, body=block(kernel.body))


def outline(ops, depth=0):
    """The accesses to shared memory, the barriers and the loops."""
    for op in ops:
        inside = [o.name for b in op.blocks for o in b.walk() if o.name.startswith("shared.") or o.name == "barrier"]
        if op.name == "barrier" or op.name.startswith("shared."):
            print("    " + "  " * depth + op.name)
        elif "barrier" in inside:
            print("    " + "  " * depth + "in each trip:")
            for b in op.blocks:
                outline(b.ops, depth + 1)
        elif inside:
            print("    " + "  " * depth + ", ".join(dict.fromkeys(inside)))


tile = floats(16, 16)
mixed = mix.compile(tile, target="sm_80").thread_ir
outline(mixed.body.ops)

# %% [markdown]
# The first barrier is for *read after write*: all elements must be there before anyone reads. The other one is for *write after
# read*: in the next trip nobody may overwrite what somebody still needs. The analysis finds it because it follows the loop's back edge.
#
# Now we delete barriers, one at a time, and let the model judge. It runs all threads in step, so it may even get the right values. But it keeps a
# log of who touched what since the last barrier, and two threads at one element, one of them writing, is a **race**:

# %%
def barriers(kernel):
    return [id(op) for op in kernel.walk() if op.name == "barrier"]


def without(kernel, number):
    """The kernel without its barrier of that number."""
    doomed = iter(range(len(barriers(kernel))))
    return rebuilt(kernel, lambda ops: [op for op in ops if op.name != "barrier" or next(doomed) != number])


def judge(kernel):
    result = np.zeros_like(tile)
    return execute(kernel, {"x": tile, "y": result}, {}, (1,)).findings


print("as compiled:", judge(mixed) or "no findings")
for number in range(len(barriers(mixed))):
    print(f"without barrier {number}:", *judge(without(mixed, number)), sep="\n    ")

# %% [markdown]
# Every barrier is needed: a race for each. The pass can also start from nothing. We take all barriers out and run it:

# %%
naked = rebuilt(mixed, lambda ops: [op for op in ops if op.name != "barrier"])
again = place_barriers(naked)
print(len(barriers(naked)), "barriers, then", len(barriers(again)), "- the same kernel as before:", again == mixed)

# %% [markdown]
# How would a careless compiler do? It would put a barrier in front of every statement that touches shared memory, and one behind. That is correct
# too. The difference is how often all threads have to wait for the slowest:

# %%
WAIT = next(op for op in mixed.walk() if op.name == "barrier")


def careless(ops):
    made = []
    for op in ops:
        touches = any(o.name.startswith("shared.") for o in (op, *(o for b in op.blocks for o in b.walk())))
        done_inside = any(o.name == "barrier" for b in op.blocks for o in b.walk())
        made += [WAIT, op, WAIT] if touches and not done_inside and op.name != "yield" else [op]
    return made


def outermost(kernel):
    """`careless`, for the statements of the loop's body only: a barrier has no place inside of a statement."""
    loops = [n for n, op in enumerate(kernel.body.ops) if op.name == "for" and not op.attrs.get("unroll")]
    ops = list(kernel.body.ops)
    for n in loops:
        ops[n] = replace(ops[n], blocks=tuple(Block(b.args, tuple(careless(b.ops))) for b in ops[n].blocks))
    return replace(kernel, body=Block(kernel.body.args, tuple(ops)))


for name, kernel in (("the pass", mixed), ("careless", outermost(naked))):
    report = execute(kernel, {"x": tile, "y": np.zeros_like(tile)}, {}, (1,))
    print(f"{name:<9} {report.barriers} barriers in a run, findings: {len(report.findings)}")

# %% [markdown]
# ## Pipelines: fetch while you multiply
#
# A loop that loads, waits, multiplies, and loads again uses one part of the GPU at a time. From `sm_80` on there is `cp.async`: a
# copy from global straight to shared memory that goes on while the threads do something else. With several **stages**, buffers in a ring, the operands of later trips
# are on their way while this trip multiplies.
#
# The picture is computed from two assumed durations. They are for you to change:

# %%
COPY, MULTIPLY, TRIPS = 600, 250, 6    # nanoseconds


def schedule(stages):
    """(copies, products) of a loop: when each begins and ends."""
    copies, products = [], []
    for trip in range(TRIPS):
        if stages == 1:                # the one slot must be free again
            start = products[-1][1] if products else 0
        else:                          # started at the head of an earlier trip, or before the loop
            head = trip - (stages - 1)
            start = products[head][0] if head >= 0 else 0
        copies.append((start, start + COPY))
        ready = max(copies[trip][1], products[-1][1] if products else 0)
        products.append((ready, ready + MULTIPLY))
    return copies, products


def lanes_of(stages):
    copies, products = schedule(stages)
    rows = [(f"slot {slot}", [Span(*copies[n], f"copy {n}", slot) for n in range(slot, TRIPS, stages)])
            for slot in range(stages)]
    return [*rows, ("tensor cores", [Span(*products[n], str(n), n % stages) for n in range(TRIPS)])]


END = schedule(1)[1][-1][1]
draw_timeline("1 stage: load, then multiply", lanes_of(1), "ns", end=END)

# %%
draw_timeline("2 stages: double buffering", lanes_of(2), "ns", end=END)

# %%
draw_timeline("4 stages", lanes_of(4), "ns", end=END)

# %%
for stages in range(1, 6):
    copies, products = schedule(stages)
    end = products[-1][1]
    print(f"{stages} stage{'s' if stages > 1 else ' '}: {end} ns, "
          f"tensor cores busy {100 * TRIPS * MULTIPLY / end:.0f}% of the time")

# %% [markdown]
# Two stages hide one copy behind one product. If a copy takes longer than a product, more stages help, until memory is the limit or
# shared memory is used up. In the thread IR the loop looks like this:

# %%
piped = fresh_product().compile(left, right, stages=3, target="sm_80").thread_ir


def pipeline_outline(ops, depth=0):
    """The asynchronous copies and what waits for them."""
    copies, pad = 0, "    " + "  " * depth
    for op in ops:
        inside = [op.name, *(o.name for b in op.blocks for o in b.walk())]
        if op.name == "for" and "async.wait" in inside:
            print(pad + "in each trip:")
            pipeline_outline(op.blocks[0].ops, depth + 1)
            continue
        copies += inside.count("shared.copy_async")
        if op.name == "async.commit":
            print(pad + f"{copies} copies for a later trip, and commit")
            copies = 0
        elif op.name == "async.wait":
            print(pad + f"wait until {op.attrs['pending']} or fewer groups are under way")
        elif op.name == "barrier":
            print(pad + "barrier")
        elif "mma" in inside:
            print(pad + "load_matrix and mma")


pipeline_outline(piped.body.ops)

# %% [markdown]
# Copies are put into groups by `commit`; `wait` waits until all but the newest few groups have arrived. Then the barrier: what *I* have waited
# for, others see only behind it. It also makes sure that all are done with the slot that is filled next. One barrier a trip serves both. After the loop
# nothing may still be on its way into memory that somebody else gets.
#
# What else a trip does is free: `attention.tile` fetches keys and values ahead, and computes its softmax between two products. A tile for a product
# outside a loop, like the queries, is copied in the same way, with no more than a wait in front of its first use.
#
# To wait for too little is a mistake that hardly ever shows on a GPU, for the data nearly always come in time. The model knows what is still in
# flight:

# %%
def impatient(ops):
    return [replace(op, attrs={"pending": op.attrs["pending"] + 1}) if op.name == "async.wait" else op for op in ops]


for name, kernel in (("as compiled", piped), ("waits for one group less", rebuilt(piped, impatient))):
    given = {"a": left, "b": right, "c": np.zeros((SIZE, SIZE), np.float32)}
    report = execute(kernel, given, dict.fromkeys("MKN", SIZE), (8, 8), programs=np.array([0]))
    problems = dict.fromkeys(f"{finding.problem} ({finding.op.name})" for finding in report.findings)
    print(f"{name}:", *problems or ["no findings"], sep="\n    ")

# %% [markdown]
# ## One memory, several tenants
#
# Shared memory is scarce, and an array in it is needed only for a while: from the first statement that touches it to the last. This is its **live
# range**. Arrays that are never alive together can have the same place. Here is a chain of transposes, each by way of shared memory:

# %% active="ipynb"
# %%tile --program turns
# kernel chain(x: f32[32, 32], out y: f32[32, 32]) grid (1) {
#     let i = 0 +: 32;
#     let a = exp(transpose(x[i, i] * 0.5));
#     let b = exp(transpose(a) * 0.5);
#     let c = exp(transpose(b) * 0.5);
#     y[i, i] = transpose(c) + a;
# }

# %%
def tenants(kernel, title):
    """The live range of each shared array, along the text of the kernel."""
    ranges = live_ranges(kernel)
    rows = [(f"%{array.name}"[:20], [Span(found.first, found.last, f"{array.type.size} x {array.dtype}", number)])
            for number, (array, found) in enumerate(ranges.items())]
    taken = sum(array.type.size * array.dtype.bytes for array in ranges)
    return draw_timeline(f"{title}: {taken:,} bytes", rows, "op number")


with patch("tilelang.tiling.lower.share_memory", lambda kernel: kernel):
    apart = tilelang.compile(turns.source.text)["chain"].compile(floats(32, 32), target="sm_80").thread_ir
tenants(apart, "each array has a place of its own")

# %%
tenants(chain.compile(floats(32, 32), target="sm_80").thread_ir, "as compiled")

# %% [markdown]
# Going through the arrays in the order in which they begin, each takes a place whose tenant has gone, if there is one: a **linear scan**, the method by which many
# compilers hand out registers. The barrier pass runs after it and sees one array. So it also keeps apart the threads that still read the old tenant's numbers and
# those that write the new one's.
#
# ## Occupancy: how many blocks fit
#
# An SM that waits for memory in one warp goes on with another. How many warps it holds is limited by four resources, whichever runs out
# first. What the author chooses, tile sizes and stages, sets two of them:

# %%
shapes = [(B, stages) for B in (32, 64) for stages in (1, 2, 3, 4)]
measured = {(B, stages): profiled(fresh_product(), left, right, B=B, stages=stages) for B, stages in shapes}
print(f"{'':<18} {'registers':>9} {'shared bytes':>13} {'blocks':>7} {'warps':>10}  runs out first")
for (B, stages), report in measured.items():
    held, block = report.occupancy, report.resources
    print(f"B = {B}, {stages} stage{'s' if stages > 1 else ' '}   {block.registers:>9} {block.shared:>13,} "
          f"{held.blocks:>7} {held.warps:>4} of {held.most}  {held.limiter}")

# %% [markdown]
# (Registers are an estimate here; chapter 11 reads the assembler's number.) Is a full SM the aim? No: enough is enough. What HBM needs is **bytes in
# flight**: its rate times its latency (Little's law). The rate is on the data sheet, the latency is not; we assume one.

# %%
LATENCY = 600e-9                       # seconds; an assumption
for gpu in GPUS.values():
    print(f"{gpu.title:<20} each SM needs {gpu.memory_rate * LATENCY / gpu.sms / 1024:>4.1f} KiB under way")

# %%
needed = a100.memory_rate * LATENCY / a100.sms
for (B, stages), report in measured.items():
    trip = 2 * B * 32 * left.itemsize  # bytes of the two operands of one trip, with BK = 32
    block = max(stages - 1, 0) * trip  # what a block has under way while it multiplies
    blocks = f"{-(-needed // block):.0f} of the {report.occupancy.blocks} blocks do" if block else \
        "nothing, while it multiplies: other blocks must fill the gap"
    print(f"B = {B}, {stages} stage{'s' if stages > 1 else ' '}   {block / 1024:>4.0f} KiB in a block   {blocks}")

# %% [markdown]
# So there are two ways to the same end: many small blocks that take turns, or few large ones with a pipeline. Large tiles, which
# save traffic, leave room for few blocks; they need the pipeline.
#
# ## The roofline
#
# Now one picture for all of it. A kernel does some operations for each byte from HBM, its **intensity**. Left of the ridge memory limits it, right of it
# arithmetic. Chapter 1 counted an eager softmax against a fused one; here both are points.

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
fused = profiled(softmax, floats(4096, 1024))
fused

# %% [markdown]
# In a terminal: `tilec profile course/kernels/softmax.tile M=4096 N=1024 --gpu a100`. The eager version does the same
# operations on more bytes:

# %%
eager_seconds = fused.eager.bytes / a100.memory_rate
points = [Point("softmax, eager", fused.roofline.flops / fused.eager.bytes, fused.roofline.flops / eager_seconds),
          Point("softmax, one kernel", fused.roofline.intensity, fused.roofline.flops / fused.roofline.seconds)]
peaks = [("f32", a100.f32), ("f16 on tensor cores", a100.tensor_half)]
draw_roofline(f"{a100.title}: what the bytes allow", a100.memory_rate, peaks, points)

# %% [markdown]
# The fused kernel is higher because it is further to the right. It lies on the slope: no change of its instructions would move it, only fewer bytes.
#
# ## A product of matrices, step by step
#
# The whole chapter on one example, all with 16-bit operands. First the naive way, as a beginner writes it in CUDA: each element of the result reads
# its row and its column by itself.

# %% active="ipynb"
# %%tile
# kernel naive[T: {f16, f32}, B = 32](a: T[M, K], b: T[K, N], out c: f32[M, N]) grid (cdiv(M, B), cdiv(N, B)) {
#     let rows = (program_id(0) * B +: B)[:, None] + zeros([1, B], i64);     # the row of each element of the tile
#     let cols = (program_id(1) * B +: B)[None, :] + zeros([B, 1], i64);     # and its column
#     var acc  = zeros([B, B], f32);
#     for k in range(0, K) {
#         acc = acc + (a[[rows, k]] as f32) * (b[[k, cols]] as f32);
#     }
#     c[[rows, cols]] = acc;
# }

# %% [markdown]
# Then `product` from above. Without tensor cores it is **staged**: in each trip the threads bring a tile of `a` and one of `b` into shared memory
# together, wait, and then each thread takes from there what its elements need. An element of `a` is fetched from global memory once for a block and used for
# all `B` columns of its tile.

# %%
sm_80 = TARGETS["sm_80"]
bare = replace(sm_80, name="sm_80, no tensor cores", capability=None, mma=False, async_copy=False)
outline(fresh_product().compile(left, right, stages=1, target=bare).thread_ir.body.ops)

# %% [markdown]
# The compiler asks a **target** what the hardware can do, and a target is data. So we can take features away and give them
# back one at a time: no tensor cores, tensor cores without the swizzle, with it, asynchronous copies, and at last a larger tile.

# %%
waiting = replace(sm_80, name="sm_80, no asynchronous copies", async_copy=False)


def unswizzled(**metas):
    with patch.object(Swizzle, "turn", lambda self, row: row * 0):
        return profiled(fresh_product(), left, right, **metas)


steps = {
    "naive": profiled(naive, left, right),
    "staged in shared memory": profiled(fresh_product(), left, right, target=bare, stages=1),
    "tensor cores": unswizzled(target=waiting, stages=1),
    "... swizzled": profiled(fresh_product(), left, right, target=waiting, stages=1),
    "... asynchronous copies": profiled(fresh_product(), left, right, stages=3),
    "... tiles of 64 x 64": profiled(fresh_product(), left, right, stages=3, B=64),
}
print(f"{'':<25} {'asked of global':>15} {'HBM':>9} {'passes of shared':>17} {'instructions':>13} "
      f"{'at least':>9}  limited by")
for name, report in steps.items():
    print(f"{name:<25} {32 * report.total.sectors / 1e6:>12.2f} MB {report.traffic.total / 1e6:>6.2f} MB "
          f"{report.total.wavefronts:>17,.0f} {report.total.instructions:>13,.0f} "
          f"{1e6 * report.roofline.seconds:>6.1f} µs  {report.roofline.limiter.name}")

# %%
draw_bars("Bytes that warps ask of global memory (a product of 256 x 256 halves)",
          [Bar(name, (32 * r.total.sectors,), f"{32 * r.total.sectors / 1e6:.2f} MB") for name, r in steps.items()])

# %%
draw_bars("Passes through shared memory, and those of them that are conflicts",
          [Bar(name, (r.total.wavefronts - r.total.conflicts, r.total.conflicts), f"{r.total.wavefronts:,.0f}")
           for name, r in steps.items()], legend=("needed", "conflicts"))

# %% [markdown]
# - **Staged.** What global memory is asked for falls by the factor `B`; now shared memory and instructions carry the load.
# - **Tensor cores.** One instruction does 2048 multiply-adds. What is left are the accesses that feed it, and their conflicts.
# - **Swizzled.** The conflicts go. Whether the time notices depends on the limiter.
# - **Asynchronous.** Copies go past the registers, and on while the tensor cores multiply. That saves waiting, which no column here counts:
#   the instructions are no fewer, for without such copies too a thread loads and stores 16 bytes at once.
# - **Larger tiles.** Each element is used twice as often. But the matrix here is small: look at the time. With few blocks most SMs have
#   nothing to do.

# %%
for name, report in steps.items():
    print(f"{name:<25} {report.programs} blocks on {a100.sms} SMs")

# %% [markdown]
# And on the roofline. All steps have the same intensity, for HBM never changes: so small a product fits into the L2 cache. They climb, and
# the distance to the roof is what is left to do.

# %%
work = 2 * SIZE**3
draw_roofline(f"{a100.title}: a product of {SIZE} x {SIZE} halves", a100.memory_rate, peaks,
              [Point(name, work / r.traffic.total, work / r.roofline.seconds) for name, r in steps.items()])

# %% [markdown]
# ## Change it
#
# 1. In the first cell of pictures use `floats(N, 8)[:, 0]` and `floats(N)[::-1]`. Guess the sectors first.
# 2. Copy `f16` numbers. How many at once? (Write `x: f16[N], out y: f16[N]`.)
# 3. In the table of banks, read the diagonal: lane t reads row t, column t. Which of the three places has conflicts?
# 4. Let `MULTIPLY` be larger than `COPY`. How many stages are useful?
# 5. Profile `product` for `GPUS["t4"]`, which is `sm_75` and has no asynchronous copies. What becomes of `stages`? (Look for
#    `global.load_chunk` and `shared.store_chunk` in its thread IR.)
# 6. In `mix`, write `v = v * 0.5 + transpose(v) + transpose(v * v)`. How many barriers? How many does the model need?
#
# And one experiment: the order in which programs take their tiles. `course/kernels/matmul.tile` has a meta `GROUP` for it. When the matrices do not fit into
# L2, neighbours in time should share rows and columns. A small L2 makes it visible with small matrices:

# %%
small_l2 = replace(a100, l2=64 * 1024, sms=1)
matmul = tilelang.load("../course/kernels/matmul.tile")["matmul"]
for group in (1, 4):
    metas = dict(BM=16, BN=16, BK=16, GROUP=group)
    launch = matmul.prepare(left, right, device="model", **metas)
    compiled = matmul.compile(left, right, target="sm_80", **metas)
    report = profile(compiled.thread_ir, compiled.optimized, small_l2, launch.arguments, launch.dims, launch.grid,
                     compiled.source)
    print(f"GROUP = {group}: {report.traffic.read / 1e6:.2f} MB read from HBM, "
          f"of which {report.traffic.compulsory_read / 1e6:.2f} MB cannot be avoided")

# %% [markdown]
# ## Exercises
#
# Write the functions in [`course/ch10_memory/exercise.py`](../course/ch10_memory/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch10")

# %% [markdown]
# With yours in place, the compiler places barriers by your rule, and the model counts sectors and conflicts by yours:

# %%
import course

with course.installed("ch10") as mine:
    print(mine)
    report = profiled(tilelang.compile(library.source.text)["product"], left, right, stages=1)
print("conflicts:", report.total.conflicts)

# %% [markdown]
# ## In short
#
# - **Coalescing**: lanes of a warp that share sectors. Neighbouring lanes, neighbouring addresses.
# - **Wide** accesses move 16 bytes a lane. **Axis analysis** proves **contiguity** and **divisibility**, or refuses.
# - **Staging**: what is used again is kept in **shared memory**.
# - **Banks** serve one word each a pass. **Padding** or a **swizzle** spreads what is read together over all of them.
# - A **barrier** stands where a **hazard** is: read after write, write after read, write after write. Without it there is a **race**.
# - A **pipeline** of **stages** fetches for later trips while this one computes; `cp.async` makes that possible.
# - **Liveness** tells when an array is needed; those never alive together share a place, by **linear scan**.
# - **Occupancy** is how many warps an SM holds. What counts is enough bytes in flight.
# - The **roofline** says which part of the GPU limits a kernel. Improve that one.
#
# **Where this differs from the real thing.** The model counts; it does not time. Its seconds are lower bounds that assume perfect overlap, and it has no L1 cache, no latency
# and no order of warps. Triton's axis analysis is richer: it tracks several axes and constant values, and learns alignment by specialising on arguments divisible by 16, as we do. Triton
# derives all its swizzles from layouts, those for products too. Its pipeliner also fetches ahead what has to be looked up in another load. On Hopper the copies are made by a unit
# of its own (TMA), which moves whole tiles and swizzles on the way, and barriers become objects in shared memory that count arriving bytes.
#
# ## Further reading
#
# - NVIDIA, [*CUDA C++ Programming Guide*](https://docs.nvidia.com/cuda/cuda-c-programming-guide/), "Device Memory Accesses", "Shared Memory", "Asynchronous Data Copies".
# - NVIDIA, [*CUDA C++ Best Practices Guide*](https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/), "Memory Optimizations".
# - S. Williams, A. Waterman, D. Patterson, *Roofline: an insightful visual performance model*, CACM 52(4), 2009.
# - M. Poletto, V. Sarkar, *Linear scan register allocation*, TOPLAS 21(5), 1999.
# - V. Volkov, *Understanding latency hiding on GPUs*, dissertation, UC Berkeley, 2016: what occupancy is good for.
# - S. Boehm, [*How to optimize a CUDA matmul kernel for cuBLAS-like performance*](https://siboehm.com/articles/22/CUDA-MMM), 2022: the steps of the last section, timed on a GPU.
# - [Triton's `AxisInfo.cpp`](https://github.com/triton-lang/triton/blob/main/lib/Analysis/AxisInfo.cpp).
#
# Next: [chapter 11, code generation](11_codegen.ipynb). Thread IR becomes text that other compilers read.
