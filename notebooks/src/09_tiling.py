# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 9: tiling
#
# A program of the tile language owns a tile, say 16 x 64 numbers. A GPU has no tiles. It has 128 threads for this
# program, each with some registers of its own that no other thread can see. So every element has to be given to some
# thread, and the sum of a row is cheap or dear depending on who got what.
#
# **The question: which thread should hold which element, and what does that choice cost later?**
#
# In CUDA the programmer answers it, again in every line that computes an index. Here the compiler answers it once, with
# a *layout*. This chapter draws layouts, measures them, and follows a tile program down to what each thread does.

# %%
from collections import Counter
from dataclasses import dataclass
from math import prod

import numpy as np

from course.extra import blocked_place
from course.pictures import Bar, Cell, draw_bars, draw_butterfly, draw_cells, draw_grid, draw_holdings, linked
from tilelang.machine.execute import execute
from tilelang.tiling.assignment import price
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.layout import LinearLayout, delinearize, linearize
from tilelang.tiling.min_cut import NEVER, Network
from tilelang.tiling.mma import AccumulatorLayout, a_element, arrange_warps, b_element, c_element, matrix_element
from tilelang.tiling.patch_layout import PatchLayout
from tilelang.tiling.targets import TARGETS

# %load_ext tilelang.notebook

# %% [markdown]
# ## Block, warp, thread, register
#
# Four levels, and each has its own way to exchange numbers:
#
# | | what it is | how its members exchange numbers |
# | --- | --- | --- |
# | **block** | all threads of one program | through shared memory, with a barrier between writing and reading |
# | **warp** | 32 threads of it that step together | by *shuffles*: a thread reads a register of another; nobody waits |
# | **thread** | the worker | between its registers: free |
# | **register** | one 32-bit number | |
#
# From top to bottom exchange gets cheaper, and the circle of those who take part gets smaller. That is why it matters who
# holds what.

# %%
draw_grid(programs=3, warps=4, sms=3)

# %% [markdown]
# Here is a tile of 16 x 64 in the compiler's simplest layout, with the 128 threads of the picture above. The colour is
# the warp. The strong cells are register 0 of all threads, the black ones are all that one thread has.

# %%
linear = LinearLayout((16, 64), threads=128)
draw_holdings(linear, thread=37, title="thread 37 and the others")

# %% [markdown]
# ## A layout is a function
#
# Nothing else: from coordinates to a **place** (thread, register), and back. In
# [`tilelang/tiling/layout.py`](../tilelang/tiling/layout.py) it is arithmetic on the element's number in row-major
# order: element `e` is in thread `e % threads`, register `e // threads`.

# %%
print("element (1, 5) has number", linearize((1, 5), (16, 64)), "and is in (thread, register)", linear.place((1, 5)))
print("thread 69, register 0 holds", linear.coordinates(69, 0))
print("thread 69, register 7 holds", linear.coordinates(69, 7))

# %% [markdown]
# It is a function that we can test completely: every element has one place, no place has two elements, and the way
# back leads to where we came from.

# %%
def audit(layout):
    """Is the layout one to one, with `coordinates` the inverse of `place`? How many places hold nothing?"""
    places = {layout.place(c): c for c in np.ndindex(*layout.shape)}
    one_to_one = len(places) == prod(layout.shape)
    there_and_back = all(layout.coordinates(*place) == c for place, c in places.items())
    empty = layout.threads * layout.registers - len(places)
    print(f"{layout}\n    one to one: {one_to_one}, there and back: {there_and_back}, empty places: {empty}")


for layout in (linear, LinearLayout((4, 8), 8), LinearLayout((4, 8), 4, vector=2), LinearLayout((10,), 4)):
    audit(layout)

# %% [markdown]
# Small ones can be read. Each cell says `thread.register`:

# %%
LinearLayout((4, 8), threads=8)

# %% [markdown]
# With a `vector` width, a thread holds runs of neighbours. One instruction can then load a whole run (chapter 10):

# %%
LinearLayout((4, 16), threads=8, vector=4)

# %% [markdown]
# Extents need not be powers of two. Ten elements in four threads leave places over, in the last register of the last
# threads. They are **padding**: code that does something for every place has to ask first whether there is an element.

# %%
ragged = LinearLayout((10,), threads=4)
for register in range(ragged.registers):
    print(f"register {register}:", [ragged.coordinates(thread, register) for thread in range(4)])
ragged

# %% [markdown]
# ### A second family: blocked
#
# The linear layout knows one order, that of memory. A **blocked** layout is free along each axis: a thread holds a small
# rectangle `per_thread`, a warp is a rectangle of `lanes`, the block a rectangle of `warps`. Triton's compiler starts from
# it. To compute it is the last exercise of this chapter; here we use the course's own.

# %%
@dataclass(frozen=True)
class Blocked:
    """Along each axis: elements of a thread, threads of a warp, warps. It covers its tile exactly once."""

    per_thread: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    @property
    def shape(self):
        return tuple(map(prod, zip(self.per_thread, self.lanes, self.warps, strict=True)))

    @property
    def threads(self):
        return prod(self.lanes) * prod(self.warps)

    def place(self, coordinates):
        warp, lane, register = blocked_place(coordinates, self.per_thread, self.lanes, self.warps)
        return warp * prod(self.lanes) + lane, register


strips = Blocked(per_thread=(1, 8), lanes=(4, 8), warps=(4, 1))
squares = Blocked(per_thread=(4, 2), lanes=(4, 8), warps=(1, 4))
draw_holdings(strips, thread=37, title="strips: a thread has 8 neighbours of one row")

# %%
draw_holdings(squares, thread=37, title="squares: a thread has 4 rows of 2 neighbours, a warp has whole columns")

# %% [markdown]
# ### The same, in bits
#
# This section is for those who want to know how far the idea goes. If all extents are powers of two, then so are all the
# steps in these functions, and a layout only moves **bits** around. Ask what each single bit of a place contributes to the
# coordinates. The element at any place is the exclusive or of what its bits contribute:

# %%
def contributions(layout):
    """{bit of the place: coordinates it leads to}: registers, then lanes, then warps."""
    where = {layout.place(c): c for c in np.ndindex(*layout.shape)}
    registers = 1 + max(register for _, register in where)
    found = {f"r{bit}": where[0, bit] for bit in powers(registers)}
    found |= {f"l{bit}" if bit < 32 else f"w{bit // 32}": where[bit, 0] for bit in powers(layout.threads)}
    return where, found


def powers(end):
    return [1 << n for n in range(end.bit_length() - 1)]


def is_linear_in_bits(layout):
    """Is every element the exclusive or of the contributions of its place's bits?"""
    where, found = contributions(layout)

    def sum_of_bits(thread, register):
        bits = [f"r{b}" for b in powers(1024) if register & b]
        bits += [f"l{b}" if b < 32 else f"w{b // 32}" for b in powers(1024) if thread & b]
        return tuple(int(np.bitwise_xor.reduce([0, *(found[b][axis] for b in bits)])) for axis in range(2))

    return all(sum_of_bits(*place) == c for place, c in where.items())


vectors = LinearLayout((16, 64), 128, vector=4)
layouts = {"linear": linear, "vectors": vectors, "strips": strips, "squares": squares}
for name, layout in layouts.items():
    shown = "  ".join(f"{bit}:{row},{column}" for bit, (row, column) in contributions(layout)[1].items())
    print(f"{name:<8} {'linear in bits' if is_linear_in_bits(layout) else 'not linear'}   {shown}")

# %% [markdown]
# `l1:0,4` says: lane bit 1 moves 4 columns to the right. Ten pairs of numbers describe a layout of 1024 elements
# completely. One can read off them what is asked most often. Runs: how far do the first register bits go along the
# columns? Coalescing: do the first lane bits carry on where the registers stop? A sum along a row: which bits have a
# column in them? Those of registers are free, those of lanes cost a shuffle each, and those of warps need shared memory.
#
# A recent design makes this the definition: in Triton's *linear layouts* (see the end) every layout is such a matrix of
# bits, and converting between two is a product with an inverse. Our compiler has three small families with arithmetic of
# their own instead. That also covers sizes that are not powers of two:

# %%
odd = LinearLayout((5, 12), 16)
print("one to one all the same:", len({odd.place(c) for c in np.ndindex(5, 12)}) == 60)

# %% [markdown]
# ## No layout is good at everything
#
# Take four layouts of the same tile, and ask four things of each: to load the tile from a matrix with rows of 1024
# floats, to sum its rows, to sum its columns, and how many registers a thread reads at once.

# %%
ROW = 1024                             # floats from one row of the matrix to the next


def run_length(layout):
    """How many neighbouring registers hold neighbours along a row, in every thread: 1, 2 or 4."""
    where = {layout.place(c): c for c in np.ndindex(*layout.shape)}
    fits = [w for w in (1, 2, 4) if all(
        where[t, r] == (where[t, r - r % w][0], where[t, r - r % w][1] + r % w) for t, r in where)]
    return max(fits)


def loading(layout):
    """(instructions of a warp, sectors of 32 bytes that all warps ask for)."""
    width = run_length(layout)
    asked = {(t // 32, r // width, (4 * (row * ROW + column)) // 32)
             for row, column in np.ndindex(*layout.shape) for t, r in [layout.place((row, column))]}
    instructions = {(warp, group) for warp, group, _ in asked}
    return len(instructions) // (layout.threads // 32), len(asked)


def summing(layout, axis):
    """(additions in a thread, shuffles, warps that have to meet) for the sums along an axis."""
    lines = {}
    for c in np.ndindex(*layout.shape):
        lines.setdefault(c[1 - axis], []).append(layout.place(c)[0])
    holders = set(lines[0])
    warps = {thread // 32 for thread in holders}
    lanes = len(holders) // len(warps)
    results = len(lines) * len(holders) // layout.threads or 1     # how many sums a thread has a part of
    own = len(lines[0]) // len(holders)
    return results * (own - 1), results * (lanes.bit_length() - 1), len(warps)


print(f"{'':<8} {'loads':>6} {'sectors':>8} | {'row sums:':<10} {'adds':>4} {'shuffles':>9} {'warps':>6} |"
      f" {'column sums:':<13} {'adds':>4} {'shuffles':>9} {'warps':>6}")
for name, layout in layouts.items():
    loads, sectors = loading(layout)
    (adds, shuffles, warps), (adds2, shuffles2, warps2) = summing(layout, 1), summing(layout, 0)
    print(f"{name:<8} {loads:>6} {sectors:>8} | {'':<10} {adds:>4} {shuffles:>9} {warps:>6} |"
          f" {'':<13} {adds2:>4} {shuffles2:>9} {warps2:>6}")

# %% [markdown]
# Read it line by line. *Warps* above 1 means that warps have to meet in shared memory, with a barrier. The fewest sectors
# possible are the tile's bytes over 32:

# %%
print("the tile has", 16 * 64 * 4, "bytes, that is", 16 * 64 * 4 // 32, "sectors")

# %% [markdown]
# `strips` sums rows with the fewest shuffles, and pays when it loads: its lanes are 8 floats apart, so that a load of 4 floats
# a lane leaves half of every sector for the next load. `squares` is the only one whose column sums stay inside of a warp; its
# rows go through all four. `linear` and `vectors` are at home in memory, and `vectors` needs the fewest instructions there.
#
# Now a layout that is bad for this matrix: the linear one turned, so that neighbouring lanes go down a column. It would be
# right for a matrix that lies in memory column by column. Here each lane is in another row, and so in another sector:

# %%
class Turned:
    """The linear layout in column-major order."""

    shape, threads = (16, 64), 128

    def place(self, coordinates):
        row, column = coordinates
        return LinearLayout((64, 16), 128).place((column, row))


down = Turned()
for name, layout in (("vectors", vectors), ("down", down)):
    loads, sectors = loading(layout)
    print(f"{name:<8} {loads} loads of a warp, {sectors} sectors; row sums: {summing(layout, 1)}")
draw_holdings(down, thread=37, title="down: neighbouring lanes are in different rows")

# %% [markdown]
# **What this compiler does.** It loads and stores in the linear layout, with vectors where chapter 10 can prove that they
# are allowed. Products of matrices insist on layouts of their own. Each tile in between gets the layout with which the
# fewest bytes have to move, and where two layouts meet stands a conversion: see *Who decides, and when*, below. Reductions
# work with whatever split of a row the layout brings.
#
# ## Lowering: from tiles to one thread
#
# Now the stage itself. **Lowering** replaces each op on tiles by what one thread does. The pattern is always the same: a
# loop over the thread's registers.

# %% active="ipynb"
# %%tile
# kernel shape_up(x: f32[N], out y: f32[N]) grid (cdiv(N, 512)) {
#     let i = program_id(0) * 512 +: 512;
#     let v = x[i];
#     let e = exp(v) * 2.0 + 1.0;
#     y[i] = e / (e + 3.0);
# }

# %%
x = np.random.default_rng(0).standard_normal(1003).astype(np.float32)
stages = shape_up.compile(x, target="sm_80")
linked(stages, "optimized", "thread_ir")

# %% [markdown]
# On the left a tile of 512, on the right one thread of 128. `%t` is its number. `%at + %t` is the element's number, and
# this is the layout, written as code: `register * 128 + t`. The loop is marked `unroll`: its trips are known, the
# generated code has none of it left, and `%r` becomes a constant that names a register.
#
# Three things to see:
#
# - **Fusion.** All the ops on tiles are *one* loop. A value that only this loop needs is never stored: it is one register for the
#   length of one trip, not an array of registers.
# - **Recipes.** `iota`, constants and index arithmetic have no home at all. Whoever needs an element of `i` computes it.
# - **The bounds check** that chapter 8 could not remove is now an `if` around each load and store.
#
# Let us count what fusion saves. Without it, each op would be a loop of its own and keep its result:

# %%
def loops(kernel):
    """The loops over registers: unrolled, and not inside of one another."""
    return sum(op.name == "for" and bool(op.attrs.get("unroll")) for op in kernel.body.ops)


def arrays(kernel, kind):
    return {op.result.name: op.result.type.size for op in kernel.walk() if op.name == kind}


elementwise = [op for op in stages.optimized.walk() if op.results and op.result.shape == (512,)]
print(f"{len(elementwise)} ops make tiles; loops over registers: {loops(stages.thread_ir)}; "
      f"arrays in registers: {arrays(stages.thread_ir, 'local')}; in shared memory: {arrays(stages.thread_ir, 'shared')}")

# %% [markdown]
# When must fusion stop? When an element is needed that **another thread** holds. One loop has no room for a barrier: all
# threads must have written before anyone reads. Here is a kernel that turns a row around:

# %% active="ipynb"
# %%tile
# kernel turned(x: f32[M, 32], out y: f32[32, M]) grid (cdiv(M, 32)) {
#     let rows = program_id(0) * 32 +: 32;
#     let cols = 0 +: 32;
#     let e = exp(x[rows, cols]);
#     y[cols, rows] = transpose(e) * 2.0;
# }

# %%
square = np.random.default_rng(1).standard_normal((50, 32)).astype(np.float32)
across = turned.compile(square, target="sm_80").thread_ir
TELLING = ("global.", "shared.", "exp", "mul", "barrier")


def skeleton(kernel):
    """The statements that do something worth telling, one a line, with what is in them."""
    for op in kernel.body.ops:
        inside = [op, *(o for block in op.blocks for o in block.walk())]
        told = [o.name for o in inside if o.name.startswith(TELLING) and (o.name != "mul" or o.result.dtype.is_float)]
        if told:
            print(f"    {'loop' if op.name == 'for' else 'once':<6}", ", ".join(told))


skeleton(across)
print("right:", np.allclose(turned(square, device="model"), 2 * np.exp(square).T))

# %% [markdown]
# Before the barrier every thread writes its `exp` into shared memory; behind it, others read them the other way round. The
# transpose itself has no code: it is a recipe, *read (j, i) where (i, j) is asked for*. (Where a load or a store stands by
# itself, outside of a loop, it moves several elements at once.)
#
# ## Ragged tiles: two different edges
#
# Two things can fail to fit, and they are easily confused.
#
# 1. The **tensor** does not fill the tile: `N` is 1003, and the last tile reaches past the end. This is the bounds check. It
#    protects memory, and where the programs stand decides whether it is needed.
# 2. The **tile** does not fill the threads: 300 elements in 128 threads. This is padding in the layout. It has nothing to do
#    with memory. Without the guard an element that does not exist would take part in a sum.

# %% active="ipynb"
# %%tile
# kernel edges(x: f32[N], out y: f32[N], out total: f32[M]) grid (M) {
#     let i = program_id(0) * 300 +: 300;
#     let v = x[i];
#     y[i] = v * 2.0;
#     total[program_id(0)] = sum(v + 1.0, axis=0);
# }

# %%
padded = edges.compile(x, M=4, target="sm_80").thread_ir
for op in padded.walk():
    if op.name == "lt":
        print("   ", " ".join(map(str, op.results)), "= lt", " ".join(map(str, op.operands)))
print("a thread has", LinearLayout((300,), 128).registers, "registers, together",
      LinearLayout((300,), 128).registers * 128, "places for 300 elements")

# %% [markdown]
# Both edges are a *less than*: one against the constant 300, the other against the dim `N`. Is `+ 1.0` a trap? Elements past
# the end of the tensor read as 0, so each still adds 1 to the sum; but padding must not. The interpreter knows nothing of
# threads, so it is a fair judge:

# %%
for device in ("reference", "model"):
    y, total = edges(x, M=4, device=device)
    print(f"{device:<10} {total}")

# %% [markdown]
# And what does the guard with `N` protect? The machine model sees every access. We lie to `shape_up` about `N`, and the model
# says who went too far:

# %%
for told in (len(x), len(x) + 5):
    report = execute(stages.thread_ir, {"x": x, "y": np.zeros_like(x)}, {"N": told}, (2,))
    print(f"told N = {told}:", *report.findings or ["nothing to report"], sep="\n    ")

# %% [markdown]
# ## Reductions: registers, shuffles, shared memory
#
# A sum over elements that several threads hold climbs the levels from below. First each thread adds up its own registers.
# Then the lanes of a warp exchange parts. In a **butterfly** each lane adds the part of the lane whose number differs in one
# bit. After as many steps as there are bits every lane has everything. The letters in the picture are worked out that way:

# %%
draw_butterfly(8)

# %% [markdown]
# All lanes have the result, which comes in handy: the next op needs it everywhere. The same for a whole warp, in NumPy:

# %%
lanes = np.arange(32)
part = np.random.default_rng(2).integers(0, 100, 32)
total = part.sum()
for distance in (16, 8, 4, 2, 1):
    part = part + part[lanes ^ distance]
print("every lane has the sum after 5 steps:", (part == total).all())

# %% [markdown]
# Only what several warps hold goes through shared memory: each warp writes one number, a barrier, and everybody reads the few.
# Here are row sums of a tile. Look for the three phases:

# %% active="ipynb"
# %%tile
# kernel row_sums[BM = 8, BN = 64](x: f32[M, N], out y: f32[M]) grid (cdiv(M, BM)) {
#     let r = program_id(0) * BM +: BM;
#     y[r] = sum(x[r, 0 +: BN], axis=1);
# }

# %%
matrix = np.random.default_rng(3).standard_normal((20, 1024)).astype(np.float32)
sums = row_sums.compile(np.ascontiguousarray(matrix[:, :64]), target="sm_80")
linked(sums, "thread_ir")

# %% [markdown]
# Which phases are needed depends on how long a row is compared with a thread, a warp, a block. Let the shape vary. The last
# columns are for a target without shuffles, where everything above the thread is a tree in shared memory:

# %%
def phases(compiled):
    """What a reduction costs each thread: ops in the text, loops counted with their trips."""
    count = Counter()

    def walk(ops, times):
        for op in ops:
            count[op.name] += times
            for block in op.blocks:
                walk(block.ops, times * trips(op))

    constants = {op.result: op.attrs["value"] for op in compiled.walk() if op.name == "const"}

    def trips(op):
        known = op.name == "for" and all(v in constants for v in op.operands[:3])
        return (constants[op.operands[1]] - constants[op.operands[0]]) // constants[op.operands[2]] if known else 1

    walk(compiled.body.ops, 1)
    return count


print(f"{'tile':<10} {'shuffles':>9} {'barriers':>9} {'shared bytes':>13}   "
      f"without shuffles: {'barriers':>9} {'shared bytes':>13}")
for shape in ((64, 16), (8, 64), (8, 128), (2, 512), (1, 1024)):
    given = np.ascontiguousarray(matrix[:, :shape[1]])
    row = f"{shape[0]} x {shape[1]:<5}"
    for target in ("sm_80", "simulator"):
        made = row_sums.compile(given, BM=shape[0], BN=shape[1], target=target).thread_ir
        count, shared = phases(made), 4 * sum(arrays(made, "shared").values())
        row += f" {count['shuffle']:>9} {count['barrier']:>9} {shared:>13}" if target == "sm_80" else \
            f"   {'':<17} {count['barrier']:>9} {shared:>13}"
    print(row)

# %% [markdown]
# ## Broadcasting moves nothing
#
# `a[:, None] * b[None, :]` has two tiles of one axis and makes one of two. Nobody ever stores the stretched versions.

# %% active="ipynb"
# %%tile
# kernel outer[BM = 16, BN = 64](a: f32[M], b: f32[N], out y: f32[M, N]) grid (cdiv(M, BM), cdiv(N, BN)) {
#     let r = program_id(0) * BM +: BM;
#     let c = program_id(1) * BN +: BN;
#     y[r, c] = exp(a[r])[:, None] * b[c][None, :];
# }

# %%
spread = outer.compile(x[:100], x[:200], target="sm_80")
made = spread.thread_ir
stretched = [op.result for op in spread.optimized.walk() if op.name == "broadcast" and len(op.result.shape) == 2]
print("stretched tiles:", ", ".join(f"%{v.name} with {4 * prod(v.shape)} bytes" for v in stretched))
print("shared memory in fact:", {name: 4 * size for name, size in arrays(made, "shared").items()}, "bytes")
exponentials = [op.result.shape for op in spread.optimized.walk() if op.name == "exp"]
print("exp is computed for tiles of", exponentials, "and not for 16 x 64")

# %% [markdown]
# The thread that needs element (i, j) reads `a` at i. That is somebody else's element, hence shared memory for the short tiles.
# A scalar, such as the maximum in softmax, is already in every thread, and then a broadcast is nothing at all.
#
# ## From one layout to another
#
# When two parts of a program want different layouts, elements must move. What that costs depends on how far. In the same
# thread: a renaming of registers, free. To another lane of the warp: shuffles. To another warp: shared memory, two passes
# and a barrier.

# %%
def moved(before, after):
    """How many elements (stay in their thread, stay in their warp, change the warp)."""
    kept = [0, 0, 0]
    for c in np.ndindex(*before.shape):
        one, two = before.place(c)[0], after.place(c)[0]
        kept[0 if one == two else 1 if one // 32 == two // 32 else 2] += 1
    return tuple(kept)


tensor_core = AccumulatorLayout((16, 64), warps=(1, 4))
pairs = Blocked(per_thread=(2, 4), lanes=(2, 16), warps=(4, 1))
ways = [("linear to vectors", linear, vectors), ("strips to pairs", strips, pairs), ("strips to down", strips, down),
        ("tensor core to vectors", tensor_core, vectors), ("to itself", strips, strips)]
draw_bars("Where 1024 elements go", [Bar(name, moved(a, b), " / ".join(map(str, moved(a, b)))) for name, a, b in ways],
          legend=("same thread", "same warp", "another warp"))

# %% [markdown]
# `strips` and `pairs` give a warp the same rows, and differ only inside of it. In the bits of before the answer takes no counting: a warp bit of one layout that is a lane or register bit in the other
# means shared memory. This compiler moves tiles between layouts through shared memory, in slabs, so that little of it is needed
# ([`accumulators.py`](../tilelang/tiling/accumulators.py)): pairs go in, chunks of 16 bytes come out, and the order there is
# such that both meet all banks ([`exchange.py`](../tilelang/tiling/exchange.py)). To avoid conversions is worth more than
# to make them fast.
#
# ## Tensor cores: layouts that the hardware fixes
#
# A **tensor core** multiplies small matrices in one instruction. All 32 lanes of a warp take part, and each brings a share
# of the operands in its registers. Which share is not for us to choose. For `mma.m16n8k16` a 16 x 16 tile of halves is
# multiplied by a 16 x 8 one, and added to 16 x 8 floats. A register holds two halves. First the accumulator C, one
# float in each register; each cell says `lane.register`:

# %%
class Fragment:
    """An operand of one instruction as a layout: element -> (lane, register, half)."""

    def __init__(self, shape, element, registers, halves=1):
        self.shape = shape
        self.where = {}
        for lane in range(32):
            for register in range(registers):
                for half in range(halves):
                    key = element(lane, register, half) if halves > 1 else element(lane, register)
                    self.where[key] = lane, register, half

    def draw(self, title, below=""):
        def cell(row, column):
            lane, register, half = self.where[row, column]
            return Cell(lane // 4, f"{lane}.{register}", f"lane {lane}, register {register}, half {half}")

        return draw_cells(self.shape, cell, title, below=below, size=34)


A = Fragment((16, 16), a_element, registers=4, halves=2)
B = Fragment((16, 8), b_element, registers=2, halves=2)
C = Fragment((16, 8), c_element, registers=4)
C.draw("C, 16 x 8: lane.register", "four lanes, a quad, have a row; a lane has two rows")

# %% [markdown]
# Then A, 16 x 16 halves. Two neighbours in a row share a register, so each `lane.register` stands twice:

# %%
A.draw("A, 16 x 16: lane.register", "rows go with lane // 4, as in C; registers 0 and 2 are the upper rows")

# %% [markdown]
# And B. Now neighbours *in a column* share a register, for the sum runs along columns of B:

# %%
B.draw("B, 16 x 8: lane.register")

# %% [markdown]
# To be sure of having understood it, we play the instruction: hand the operands out to lanes as the pictures say, let it
# multiply what is in the registers, and collect the result from the lanes' registers.

# %%
generator = np.random.default_rng(4)
a_tile = generator.integers(-8, 8, (16, 16)).astype(np.float32)
b_tile = generator.integers(-8, 8, (16, 8)).astype(np.float32)


def hand_out(fragment, tile, registers, halves):
    held = np.zeros((32, registers, halves), np.float32)
    for element, (lane, register, half) in fragment.where.items():
        held[lane, register, half] = tile[element]
    return held


a_held, b_held = hand_out(A, a_tile, 4, 2), hand_out(B, b_tile, 2, 2)
c_held = np.zeros((32, 4), np.float32)
for (row, column), (lane, register, _) in C.where.items():
    for k in range(16):                # the hardware does all of this at once
        c_held[lane, register] += a_held[A.where[row, k]] * b_held[B.where[k, column]]

collected = np.array([[c_held[C.where[row, column][:2]] for column in range(8)] for row in range(16)])
print("the same as a @ b:", (collected == a_tile @ b_tile).all())

# %% [markdown]
# How do 256 halves of A get from shared memory into this order? One at a time would take eight loads of two bytes a lane. There is an
# instruction for it, `ldmatrix`: each lane names a *row* of 8 halves (16 bytes), and what it gets is a pair of halves of
# some other row, exactly as an operand wants them. Four 8 x 8 matrices make A:

# %%
def ldmatrix_cell(row, column):
    lane = next(n for n in range(32) if (row, column) in matrix_element(n, trans=False))
    return Cell(row, f"{lane}", f"lane {row} gives the address of this row, lane {lane} gets this element")


draw_cells((8, 8), ldmatrix_cell, "one 8 x 8 matrix of ldmatrix: the lane that gets each element",
           below="the colour is the row; lane r gives the address of row r", size=36)

# %% [markdown]
# It is a shuffle and a load in one. With `trans` it turns the matrix on the way, which serves B when its rows lie along the
# other axis:

# %%
print("lane 5 gets", matrix_element(5, trans=False), "- with trans", matrix_element(5, trans=True))
same = all(matrix_element(lane, False)[half] == a_element(lane, 0, half) for lane in range(32) for half in (0, 1))
turned_same = all(matrix_element(lane, True)[half] == b_element(lane, 0, half) for lane in range(32) for half in (0, 1))
print("the first matrix is register 0 of A:", same, "- with trans, register 0 of B:", turned_same)

# %% [markdown]
# ### From one instruction to a tile
#
# A program's tile is larger than 16 x 8. Its warps stand in a grid over it, and each repeats the instruction over its part.
# Parts near to squares are best: a warp reads a strip of A for its height and one of B for its width.

# %%
for shape in ((64, 64), (128, 64), (128, 128), (32, 256)):
    grid = arrange_warps(shape, 8)
    layout = AccumulatorLayout(shape, grid)
    height, width = layout.part
    print(f"{shape[0]:>3} x {shape[1]:<3} over {grid[0]} x {grid[1]} warps: parts of {height} x {width}, "
          f"{layout.registers} registers a thread, "
          f"{(height + width) / (height * width):.3f} elements read for each product")

# %%
draw_holdings(AccumulatorLayout((32, 32), warps=(2, 2)), thread=37, size=12,
              title="an accumulator of 32 x 32 over 2 x 2 warps")

# %% [markdown]
# Is it one to one? Is it linear in its bits, as above?

# %%
accumulator = AccumulatorLayout((32, 32), (2, 2))
audit(accumulator)
print("linear in bits:", is_linear_in_bits(accumulator))
print("  ".join(f"{bit}:{row},{column}" for bit, (row, column) in contributions(accumulator)[1].items()))

# %% [markdown]
# A pleasant accident, which attention lives from. It multiplies twice: the result P of the first product is the left operand
# of the second. P comes as accumulators, 16 x 8 each; it is needed as A, 16 x 16. Put two accumulators side by side. Is every
# element already in the lane that needs it?

# %%
print(all(A.where[row, column][0] == C.where[row, column % 8][0] for row in range(16) for column in range(16)))

# %% [markdown]
# Yes: a conversion with no exchange at all, only f32 rounded to f16 and packed in pairs. Two products with an `exp` between them,
# as in attention:

# %% active="ipynb"
# %%tile
# kernel twice[B = 64](a: f16[M, 64], b: f16[64, 64], c: f16[64, 64], out y: f32[M, 64]) grid (cdiv(M, B)) {
#     let rows = program_id(0) * B +: B;
#     let i = 0 +: 64;
#     let p = exp(dot(a[rows, i], b[i, i]) * 0.1);
#     y[rows, i] = dot(p as f16, c[i, i]);
# }

# %%
three = [generator.standard_normal((64, 64)).astype(np.float16) for _ in range(3)]
steps = list(twice.compile(*three, target="sm_80").thread_ir.walk())
first, last = [n for n, op in enumerate(steps) if op.name == "mma"]
between = Counter(op.name for op in steps[first:last])
stored = {op.operands[0].name for op in steps[first:last] if op.name == "shared.store"}
print("between the products:", {name: between[name] for name in ("exp", "cast", "pack", "shuffle") if between[name]})
print("written to shared memory meanwhile:", stored or "nothing")
print("on the model the same as the interpreter:",
      np.allclose(twice(*three, device="model"), twice(*three, device="reference"), atol=1e-3))

# %% [markdown]
# Not `p`, and not the right operand of the second product either: that was asked for along with the others, and has arrived by itself (chapter
# 10). The exponential is computed where the accumulator is ([`fragments.py`](../tilelang/tiling/fragments.py)), and sums along its rows need two shuffles, among the four
# lanes that share a row.
#
# ### Who decides, and when
#
# Before there are threads, three small passes on tile IR give each tile its layout
# ([`laying_out.py`](../tilelang/tiling/laying_out.py)). Take a layer of a neural network: a product, an activation, rounded
# and stored.

# %% active="ipynb"
# %%tile
# kernel layer[BM = 64, BN = 64, BK = 32](x: f16[M, K], w: f16[K, N], out y: f16[M, N])
#        grid (cdiv(M, BM), cdiv(N, BN)) {
#     let rows = program_id(0) * BM +: BM;
#     let cols = program_id(1) * BN +: BN;
#     var acc  = zeros([BM, BN], f32);
#     for k in range(0, K, BK) {
#         acc = dot(x[rows, k +: BK], w[k +: BK, cols], acc);
#     }
#     y[rows, cols] = (acc * sigmoid(acc)) as f16;
# }

# %%
halves = [generator.standard_normal((128, 128)).astype(np.float16) for _ in range(2)]
optimized = layer.compile(*halves, target="sm_80").optimized


def tell(kernel):
    """The ops that make tiles of the accumulator's shape: result, op, operands of this shape, layout."""
    for op in kernel.walk():
        if op.results and op.name != "const" and op.result.shape == (64, 64):
            layout = op.attrs.get("layout", op.attrs.get("layouts", ("",))[0])
            made_of = ", ".join(str(v) for v in op.operands if v.shape == (64, 64))
            print(f"    {op.result!s:<14} = {op.name:<15} {made_of:<26} {layout or '-'}")


passes = {}
lay_out(optimized, TARGETS["sm_80"], observe=lambda name, kernel: passes.update({name: kernel}))
for name, kernel in passes.items():
    print(f"after {name}:")
    tell(kernel)

# %% [markdown]
# The last column is the layout in which the result is held; `-` is the linear one.
#
# 1. **anchors** asks the dots. The accumulator is held by 2 x 2 warps of tensor cores.
# 2. **conversions** makes that right, not fast: everybody else is linear, the loop's accumulator too, so it is converted
#    twice in every trip.
# 3. **minimise** chooses the other layouts. The loop carries what the tensor cores hold. The activation is computed there too,
#    and even the rounding, so that a tile of halves is converted and not one of floats.
#
# What does a block move through shared memory, conversions and operands of the products together? The loop is taken to make 8
# trips.

# %%
for name, kernel in list(passes.items())[1:]:
    size, tiles = price(kernel)
    print(f"{name:<12} {size:>9,} bytes, {tiles} tiles")

# %% [markdown]
# How is the best choice found? Every tile is on one of two sides, linear or held as the dots are; some have no choice. A
# tile whose users are on the other side costs its bytes. To part two sides at the least price is an old problem: the
# **minimum cut** of a network, and as much as flows from one end to the other is what the cheapest cut costs
# ([`min_cut.py`](../tilelang/tiling/min_cut.py), [`assignment.py`](../tilelang/tiling/assignment.py)). A small one:

# %%
network = Network()
for start, end, size in (("loaded, linear", "sum", 8), ("sum", "rounded", 4), ("product, held", "sum", 4),
                         ("rounded", "stored, linear", 2)):
    network.edge(start, end, size)
    network.edge(end, start, size)
network.edge("linear", "loaded, linear", NEVER)
network.edge("linear", "stored, linear", NEVER)
network.edge("product, held", "held", NEVER)
cost, held = network.cut("linear", "held")
print("cut:", cost, "held with the product:", sorted(held - {"held", "product, held"}) or "nothing more")

# %% [markdown]
# A residual connection: the tile that is loaded (8) would have to be converted to be added where the product is; so the product
# (4) is converted instead. Make the loaded tile smaller (1), and sum and rounding change sides.
#
# Attention is the same problem with more tiles: that its scores never leave the registers is no rule in this compiler, it is
# the cheapest cut.
#
# ### And without tensor cores
#
# For f32 a thread multiplies by itself. It takes some rows and some columns, so that what it reads is used several times:
# `m + n` reads for `m * n` products.

# %%
patch = PatchLayout((16, 64), warps=4)
print("rows and columns of a thread:", patch.patch)
draw_holdings(patch, thread=37, title="patches: a thread has several rows and columns, far apart")

# %% [markdown]
# Here is what the compiler chose, for two element types of the same source:

# %% active="ipynb"
# %%tile
# kernel product[T: {f16, f32}, BM = 64, BN = 64, BK = 32](a: T[M, K], b: T[K, N], out c: f32[M, N])
#        grid (cdiv(M, BM), cdiv(N, BN)) {
#     let rows = program_id(0) * BM +: BM;
#     let cols = program_id(1) * BN +: BN;
#     var acc  = zeros([BM, BN], f32);
#     for k in range(0, K, BK) {
#         acc = dot(a[rows, k +: BK], b[k +: BK, cols], acc);
#     }
#     c[rows, cols] = acc;
# }

# %%
for dtype in (np.float16, np.float32):
    left, right = (generator.standard_normal((96, 96)).astype(dtype) for _ in range(2))
    made = product.compile(left, right, target="sm_80").thread_ir
    count = Counter(op.name for op in made.walk())
    longest = max(arrays(made, "local").items(), key=lambda item: item[1])
    print(f"{np.dtype(dtype).name}: in the text {count['mma']} mma, {count['shared.load_matrix']} load_matrix, "
          f"{count['fma']} fma; the longest array of registers: {longest}")
    exact = left.astype(np.float32) @ right.astype(np.float32)
    print("    on the model the same as NumPy:", np.allclose(product(left, right, device="model"), exact, atol=1e-3))

# %% [markdown]
# ## Change it
#
# 1. In `shape_up` let the tile have 500 elements. Where does the second edge appear?
# 2. Is there a blocked layout of 16 x 64 over 4 warps for which both sums stay inside of a warp? Why not?
# 3. In `turned`, replace `transpose(e)` by `e`, and store to `y[rows, cols]` (with `y: f32[M, 32]`). How many loops are left?
# 4. Compile `row_sums` with `BN=48`, and with a tile of 8 x 65. Which way do the sums take?
# 5. For `mma`, swap the roles of lane bits 1 and 4 in `c_element`. Is it still one to one? Still linear in bits? What would the
#    hardware do?
#
# The next cell is an experiment of that kind: the number of threads is a meta of the kernel. What does it change in a sum?

# %% active="ipynb"
# %%tile
# kernel whole[BLOCK = next_pow2(N), warps: {1, 2, 4, 8}](x: f32[M, N], out y: f32[M]) grid (M) {
#     let row = program_id(0);
#     y[row] = sum(x[row, 0 +: BLOCK], axis=0);
# }

# %%
for warps in (1, 2, 4, 8):
    made = whole.compile(matrix, target="sm_80", warps=warps).thread_ir
    count = phases(made)
    print(f"{warps} warp{'s' if warps > 1 else ' '}: {1024 // (32 * warps):>2} elements a thread, {count['shuffle']} shuffles, "
          f"{count['barrier']} barriers, {sum(arrays(made, 'shared').values())} numbers in shared memory")

# %% [markdown]
# ## Exercises
#
# Write the functions in [`course/ch09_tiling/exercise.py`](../course/ch09_tiling/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch09")

# %% [markdown]
# With yours in place of its own, the compiler tiles this softmax. What is not finished yet is the reference's:

# %%
import course
import tilelang

with course.installed("ch09") as mine:
    print(mine)
    program = tilelang.load("../course/kernels/softmax.tile")
    shares = program["softmax"](matrix, device="model")
print("rows add up to 1:", np.allclose(shares.sum(axis=1), 1))

# %% [markdown]
# ## In short
#
# - A **layout** is a one-to-one function between elements and places (thread, register). Places left over are **padding**.
# - **Linear** layouts follow memory, **blocked** ones have a rectangle of elements, lanes and warps along each axis, and those of
#   **tensor cores** are fixed by the hardware.
# - With powers of two a layout is **linear in its bits**, and its costs can be read off them.
# - **Lowering** turns an op on a tile into a loop over registers; **fusion** makes one loop of many ops. It ends where a thread
#   needs another's element.
# - A **reduction** climbs: registers, **shuffles** in a warp (a **butterfly**), shared memory between warps.
# - A **broadcast** or **transpose** is a **recipe**: an element is fetched from where it is.
# - A **conversion** costs nothing, shuffles or shared memory, as far as its elements travel. Dots are **anchors**; the layouts
#   in between follow from a **minimum cut**, which leaves the fewest bytes to convert.
# - **mma** multiplies **fragments**, shares of small matrices in the lanes of a warp; **ldmatrix** brings them there.
#
# **Where this differs from the real thing.** Triton starts from blocked layouts, one for each memory access, and has passes
# that propagate, hoist and remove conversions step by step. For us, all tiles of a size share one linear layout, and each
# product's tiles choose between that and one more. Triton also converts by shuffles where the elements stay in their warp. On Hopper (`sm_90`) a group of four warps
# multiplies together (`wgmma`), with operands straight from shared memory, and on Blackwell the accumulators leave the registers altogether. And
# the layouts of `mma` differ for each element type: those for 8-bit and tf32 operands hold other shares.
#
# ## Further reading
#
# - P. Tillet, H. T. Kung, D. Cox, *Triton*, MAPL 2019. Section 4 has the hierarchy of tiles.
# - K. Zhou and others, [*Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2*](https://arxiv.org/abs/2505.23819),
#   2025: layouts as matrices of bits.
# - NVIDIA, [*Parallel Thread Execution ISA*](https://docs.nvidia.com/cuda/parallel-thread-execution/), "Matrix Fragments for
#   mma.m16n8k16" and "ldmatrix": the pictures of this chapter in the words of the maker.
# - NVIDIA, [CUTLASS, *CuTe layouts*](https://github.com/NVIDIA/cutlass): layouts as shapes and strides, composed.
# - M. Harris, *Optimizing parallel reduction in CUDA*, 2007: the road from a tree to shuffles, before there were shuffles.
#
# Next: [chapter 10, memory](10_memory.ipynb). When may a load be 16 bytes wide, and what must wait for what?
