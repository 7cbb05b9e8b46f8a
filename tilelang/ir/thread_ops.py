"""The thread vocabulary: what one thread does. Every value is a scalar of this thread, or an array it can index.

The elementwise ops of the tile vocabulary appear here too, on scalars. What is new is place: registers (`local`),
the block's shared memory (`shared`), global memory (`global`), the thread's own number, and barriers. Tiles are
gone: a tile of n elements over T threads has become a `local` array of ceil(n / T) elements in each.
"""

from __future__ import annotations

from tilelang.ir.tile_ops import BINARY, COMPARE, TILE_OPS, UNARY, OpInfo

_SCALAR = (*UNARY, *BINARY, *COMPARE, "fma", "select", "rand", "randn", "randint",
           "const", "program_id", "num_programs")
_CONTROL = ("for", "while", "if", "yield", "condition")

THREAD_OPS: dict[str, OpInfo] = {info.name: info for info in [
    *(TILE_OPS[name] for name in (*_SCALAR, *_CONTROL)),
    OpInfo("thread_id", 0, "i32: this thread's number in its block, 0 to attrs['threads'] - 1"),
    OpInfo("stride", 1, "{axis}: i64, distance in elements between neighbours of a tensor along axis"),

    OpInfo("local", 0, "an array in this thread's registers, not initialised", pure=False),
    OpInfo("local.load", 2, "array, i32 index -> element", pure=False, reads=True),
    OpInfo("local.store", 3, "array, i32 index, value", pure=False, writes=True),

    OpInfo("shared", 0, "an array in shared memory, one for the block, not initialised", pure=False),
    OpInfo("shared.load", 2, "array, i32 index -> element", pure=False, reads=True),
    OpInfo("shared.store", 3, "array, i32 index, value", pure=False, writes=True),

    OpInfo("global.load", 2, "tensor, i64 offset in elements from its first -> element; must be inside",
           pure=False, reads=True),
    OpInfo("global.store", 3, "tensor, i64 offset, value; must be inside", pure=False, writes=True),
    OpInfo("global.atomic", None, "{kind}: tensor, i64 offset, value, [expected if cas] -> old value; must be inside",
           pure=False, reads=True, writes=True),

    OpInfo("barrier", 0, "waits for all threads of the block; they then see each other's shared and global writes",
           pure=False, ordered=True),
    OpInfo("assert", 1, "{text, id}: bool; the first failure of a launch is reported with its program and source line",
           pure=False, ordered=True),
    OpInfo("print", None, "{text, id}: no operand, or i32 element number and value; a tile's elements are put in order "
           "again on the host", pure=False, ordered=True),
]}
"""`for` has one more attribute here, `unroll`: a constant-trip loop over registers, to be unrolled.

`owner`, a string on a shared or global access, says that the address decides which thread makes the access, and how: of
two accesses with the same owner, those to one address come from one thread. `print` has the printed tile's `shape`.

A `barrier` may stand only where all threads of the block come: not inside an `if`, `while` or `for` whose condition
or bounds differ between threads. A global store by one thread is seen by another thread of the same block after a
barrier, never before; between blocks only atomics are ordered.
"""
