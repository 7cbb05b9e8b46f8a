# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 7: tile IR
#
# A tree is the form in which people's programs are checked. It is a poor form for changing them: `v` may mean one thing
# above and another below, an expression may be deep, and a `+=` hides a read.
#
# **The question: what is the simplest form in which a program still means the same?**
#
# A list of steps. Each does one thing, and each result has a name that never changes. The form is called an
# **intermediate representation**, IR, and everything from here to the last chapter works on it.

# %%
import numpy as np

from course.pictures import linked
from tilelang.diagnostics import InternalError
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel, print_op
from tilelang.ir.verifier import verify

# %load_ext tilelang.notebook

# %% active="ipynb"
# %%tile
# kernel row_sums[BLOCK = 128](x: f32[M, N], out y: f32[M]) grid (M) {
#     let row   = program_id(0);
#     var total = zeros([BLOCK], f32);
#     for k in range(0, N, BLOCK) {
#         total += x[row, k +: BLOCK];
#     }
#     y[row] = sum(total, axis=0);
# }

# %%
x = np.random.default_rng(0).standard_normal((4, 300)).astype(np.float32)
stages = row_sums.compile(x, device="reference")
linked(stages, "tile_ir")

# %% [markdown]
# (The picture leaves out some attributes. `stages.tile_ir` shows all.)
#
# ## One name, one value
#
# In the source `total` changes. In the IR nothing does. This property is called **static single assignment**, SSA: each
# name is assigned at one place. To know what `%reduce` is, look at the one line that makes it; you need not ask what
# happened in between. Every pass in chapter 8 is short because of that.
#
# But a loop does change something. How can that be written without changing anything? Look at the `for`:
#
# - It takes the **initial** value of `total` as an operand.
# - Its block has **arguments**: the loop's variable, and the value of `total` at the start of a trip.
# - At the end of the block, `yield` hands over the value for the next trip.
# - The loop itself has a **result**: the last value.
#
# So a loop is a step like any other. Values go in, values come out. An `if` is the same with two blocks.

# %% active="ipynb"
# %%tile
# kernel clip(x: f32[N], out y: f32[N]) grid (N) {
#     let i = program_id(0);
#     var v = x[i];
#     if v < 0.0 {
#         v = 0.0;
#     } else {
#         v = v * 0.5;
#     }
#     y[i] = v;
# }

# %%
clip.compile(x[0], device="reference").tile_ir

# %% [markdown]
# Compilers that keep loops and branches as blocks inside an op have a **structured** IR. The other way is a graph of basic
# blocks with jumps between them, where values that come together are joined by *φ* functions. Jumps are more general;
# structure is easier to read, to check and to turn into a GPU's code.
#
# ## The data
#
# Four classes hold it all: `Value`, `Op`, `Block`, `Kernel`. They are frozen. A pass never changes a kernel, it makes
# another.

# %%
kernel = stages.tile_ir
loop = next(op for op in kernel.walk() if op.name == "for")
print("operands", *loop.operands)
print("results ", *loop.results, "of type", loop.result.type)
print("block arguments", *loop.blocks[0].args)
print("the last op of the block:", print_op(loop.blocks[0].ops[-1]))
print("it comes from", repr(stages.source.text[loop.span.start:loop.span.end].split("\n")[0]))

# %% [markdown]
# The last line is worth a thought. Each op knows the **span** of the source from which it was made, and keeps it through all
# stages. That is how the machine model can say which line of *your* program is slow.
#
# ## Text, and back
#
# An IR that can be printed can be read by you. One that can also be parsed can be tested: write a kernel as text, run a
# pass, compare with text. Printing and parsing are exact inverses here.

# %%
again = parse_kernel(print_kernel(kernel))
print("the same kernel:", again == kernel)

# %% [markdown]
# So you can write IR by hand. No lexer for `.tile`, no types, no source: only steps.

# %%
by_hand = parse_kernel("""\
kernel @squares(%y: out i32[%N]) dims(%N) tile {
  %p: i64 = program_id {axis = 0}
  %i: i32[8] = iota
  %s: i32[8] = mul %i, %i
  store %y, %i, %s {checked = (true,), mask = false, pointwise = false}
}
""")
y = np.zeros(6, np.int32)
interpret(by_hand, {"y": y}, {"N": 6}, (1,))
y

# %% [markdown]
# The tile has 8 elements and the array 6. `checked` says that the store must look, for each element, whether it is inside.
# What is outside is not written.
#
# ## What must hold
#
# Not every list of steps is a program. A **verifier** says what must hold: each value is made before it is used, and once;
# the operands of each op have the types that it wants; blocks end in a `yield`. It runs after every pass, always. If a pass
# is wrong, you hear of it at once, and not three stages later as a wrong number.

# %%
from dataclasses import replace

from tilelang.dtypes import I32
from tilelang.ir.core import Block, Value
from tilelang.semantics.types import TileType

program_id, iota, mul, store = by_hand.body.ops
narrow = Value("s", TileType(I32, (4,)))
broken = {
    "used before it is made": (program_id, mul, iota, store),
    "made twice": (program_id, iota, iota, mul, store),
    "types that do not fit": (program_id, iota, replace(mul, results=(narrow,)), store),
    "an op that does not exist": (program_id, replace(iota, name="iotta"), mul, store),
}
for title, ops in broken.items():
    try:
        verify(replace(by_hand, body=Block((), ops)))
        print(f"{title}: nothing was found")
    except InternalError as error:
        print(f"{title}:\n    {error}")

# %% [markdown]
# These are not messages for the author of a `.tile` program. A kernel that fails here is a mistake of the compiler.
#
# ## What it means
#
# The **interpreter** runs the IR in NumPy, one op after another. It is slow, simple, and by definition right: if another
# part of the compiler gives another result, that part is wrong. Such a part is called an **oracle**.

# %%
result = np.zeros(4, np.float32)
interpret(kernel, {"x": x, "y": result}, {"M": 4, "N": 300}, (4,))
print("as NumPy:", np.allclose(result, x.sum(axis=1)))

# %% [markdown]
# A definition must cover every case. What is 7 divided by 0? C says: anything may happen. A GPU gives one number, NumPy
# another, and a CPU stops the program. A language that should give the same everywhere must decide. This one does:

# %% active="ipynb"
# %%tile
# kernel corners(a: i32[N], b: i32[N], x: f32[N], out q: i32[N], out r: i32[N], out s: i32[N], out c: i8[N]) grid (N) {
#     let i = program_id(0);
#     q[i] = a[i] // b[i];
#     r[i] = a[i] % b[i];
#     s[i] = a[i] << b[i];
#     c[i] = x[i] as i8;
# }

# %%
a = np.array([7, -7, 7, 5, -2**31], np.int32)
b = np.array([0, 2, -2, 40, -1], np.int32)
floats = np.array([1e9, -1.9, np.nan, -np.inf, 300.0], np.float32)
on_cpu, by_definition = (corners(a, b, floats, device=device) for device in ("cpu", "reference"))
for n in range(len(a)):
    q, r, s, c = (int(array[n]) for array in by_definition)
    print(f"{a[n]:>11} // {b[n]:<3} is {q:<12} {a[n]:>11} % {b[n]:<3} is {r:<3} {a[n]:>11} << {b[n]:<3} is {s:<4}"
          f" {floats[n]:>13} as i8 is {c}")
print("the same on the CPU:", all(np.array_equal(one, two) for one, two in zip(on_cpu, by_definition, strict=True)))

# %% [markdown]
# Division by zero gives 0, and division rounds down. A shift by the width or more gives 0. The smallest number divided by
# -1 wraps around to itself. A float that is too large becomes the largest integer, and NaN becomes 0. Two of your
# exercises, `floor_divide` and `_float_to_integer`, are these definitions.
#
# ## What an op may do
#
# A pass must know about each op what it could break by moving or dropping it. The table of ops says it:

# %%
from tilelang.ir.tile_ops import TILE_OPS

for name in ("add", "load", "store", "atomic", "assert", "print", "reduce"):
    info = TILE_OPS[name]
    facts = [fact for fact in ("pure", "reads", "writes", "ordered", "elementwise") if getattr(info, fact)]
    print(f"{name:<8} {', '.join(facts)}")
print(len(TILE_OPS), "ops in all")

# %% [markdown]
# A **pure** op has no effect, and gives the same for the same operands: it may be dropped, shared and moved. A `load` is
# not pure, since a `store` in between would change what it gives.
#
# ## Change it
#
# 1. Compile `row_sums` without the loop (`x[row, 0 +: BLOCK]`). Which ops go?
# 2. In `clip`, assign `v` only in the first branch. What does the second block yield?
# 3. Write the IR of `y[i] = x[i] + 1` by hand, and run it. The verifier will help you.
# 4. Print something inside the loop: `print("k", k);`. In which order do the programs come?
#
# ## Exercises
#
# Write the functions in [`course/ch07_tile_ir/exercise.py`](../course/ch07_tile_ir/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch07")

# %%
import course
import tilelang

with course.installed("ch07") as mine:
    print(mine)
    program = tilelang.load("../course/kernels/softmax.tile")
    program["softmax"](np.ones((3, 5), np.float32), device="reference")

# %% [markdown]
# ## In short
#
# - An **IR** is a list of ops; in **SSA** form each value has one name and each name one value.
# - **Structured** control flow: loops and branches are ops with blocks inside; values are passed in and **yielded** out.
# - What can be printed can be parsed back, so every stage can be tested with text.
# - The **verifier** says what must hold, the **interpreter** what it means.
# - **Pure** ops may be dropped, shared and moved.
#
# **Where this differs from the real thing.** Triton's IR is a dialect of MLIR, a framework in which each project declares
# its own ops, and in which parsing, printing and verifying come for free. LLVM's IR has basic blocks and φ functions, and
# knows no tiles. Both change their data in place, which is faster and harder to follow. Few compilers have an interpreter
# for each stage; they compare with other compilers instead.
#
# ## Further reading
#
# - R. Cytron and others, *Efficiently computing static single assignment form and the control dependence graph*, ACM
#   TOPLAS 13(4), 1991.
# - C. Lattner and others, [*MLIR: a compiler infrastructure for the end of Moore's law*](https://arxiv.org/abs/2002.11054),
#   2020.
# - A. Appel, *SSA is functional programming*, ACM SIGPLAN Notices 33(4), 1998: why block arguments and φ are the same.
# - JAX, [*Autodidax*](https://docs.jax.dev/en/latest/autodidax.html): a typed SSA with checker and interpreter, built step
#   by step.
#
# Next: [chapter 8, optimizing](08_optimizing.ipynb). The same result with less work.
