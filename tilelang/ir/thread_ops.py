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
    OpInfo("shared.load_vector", 4, "{width}: array, i32 index, local array, i32 index -> none; width neighbours at "
           "once, 4 to 16 bytes, the first at a multiple of width", pure=False, reads=True),
    OpInfo("shared.store_vector", 4, "{width}: array, i32 index, local array, i32 index -> none; the other way",
           pure=False, writes=True),
    OpInfo("shared.load_matrix", 4, "{trans}: array of f16, bf16 or i8, i32 index, local u32 array, i32 index; "
           "a warp reads four 8 x 8 matrices into four registers", pure=False, reads=True, writes=True),
    OpInfo("mma", 6, "{kind}: local array and i32 index of accumulator, A and B; a warp adds a product of fragments",
           pure=False, reads=True, writes=True),
    OpInfo("shared.wgmma", 6, "{kind, columns, a, b}: array and i32 index of A, of B, local f32 array and i32 index; a "
           "warp group starts to add the product of 64 x 16 by 16 x columns in shared memory. A may be a local u32 "
           "array of fragments as those of `mma`, without {a}", pure=False, reads=True, writes=True),
    OpInfo("wgmma.fence", 1, "local f32 or u32 array: what this thread did with it comes before later products",
           pure=False, reads=True, writes=True, ordered=True),
    OpInfo("wgmma.commit", 0, "the products since the last commit are a group", pure=False, ordered=True),
    OpInfo("wgmma.wait", 1, "{pending}: local f32 array that the thread goes on with once all groups of products but "
           "the last `pending` are done", pure=False, reads=True, writes=True, ordered=True),

    OpInfo("pack", 2, "{half}: f16 or bf16; two of these, or two f32 that are rounded to it -> u32, the first in its "
           "lower bits"),
    OpInfo("round_tf32", 1, "f32 -> u32: the bits of the nearest number with 10 bits of fraction, halves away from 0"),
    OpInfo("permute_bytes", 3, "u32, u32, u32 selector -> u32; byte n of it is the one of the eight, counted from the "
           "lowest of the first, whose number is in the selector's bits from 4 n on"),
    OpInfo("shuffle", 1, "{xor}, {lane}, {up} or {down}: what another thread of the warp has, number own ^ xor, lane, "
           "own - up or own + down; without such a thread its own", pure=False),
    OpInfo("shared.copy_async", 5, "array, i32 index, tensor, i64 offset, i32 count: 16 bytes, `count` elements and "
           "then zeros, arrive some time before a wait", pure=False, reads=True, writes=True),
    OpInfo("async.commit", 0, "this thread's copies since its last commit are a group", pure=False, ordered=True),
    OpInfo("async.wait", 0, "{pending}: waits until all groups but the last `pending` have arrived", pure=False,
           ordered=True),
    OpInfo("async.fence", 0, "what this thread has written to shared memory, copies that it has waited for included, "
           "may be read by `shared.wgmma` after a barrier that follows", pure=False, ordered=True),
    OpInfo("is_aligned", 1, "tensor -> bool: its first element is at a multiple of 16 bytes"),

    OpInfo("global.load", 2, "tensor, i64 offset in elements from its first -> element; must be inside",
           pure=False, reads=True),
    OpInfo("global.store", 3, "tensor, i64 offset, value; must be inside", pure=False, writes=True),
    OpInfo("global.load_vector", 4, "{width}: tensor, i64 offset, local array, i32 index -> none; width neighbours at "
           "once, all inside, the first at a multiple of width", pure=False, reads=True),
    OpInfo("global.store_vector", 4, "{width}: tensor, i64 offset, local array, i32 index -> none; the other way",
           pure=False, writes=True),
    OpInfo("global.atomic", None, "{kind}: tensor, i64 offset, value, [expected if cas] -> old value; must be inside",
           pure=False, reads=True, writes=True),

    OpInfo("global.load_chunk", 5, "tensor, i64 offset, bool, local u32 array, i32 index -> none; 16 bytes from a "
           "multiple of 16 on into four registers if it is true, else zeros", pure=False, reads=True, writes=True),
    OpInfo("shared.store_chunk", 4, "array, i32 index, local u32 array, i32 index -> none; four registers to 16 bytes "
           "from a multiple of 16 on", pure=False, reads=True, writes=True),

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

`placed`, true on accesses to a shared array, says that the barriers between these are written already; of
`shared.wgmma` it is said of A, and `placed_b` of B.

A copy that is under way may be waited for by its own thread alone; the others see it after a barrier that follows the
wait. Until then nobody may read its place, nor may it be one that somebody still reads.

A `barrier` may stand only where all threads of the block come: not inside an `if`, `while` or `for` whose condition
or bounds differ between threads. A global store by one thread is seen by another thread of the same block after a
barrier, never before; between blocks only atomics are ordered.

What a warp does together (`shuffle`, `shared.load_matrix`, `mma`), all its threads must come to. For
`shared.load_matrix` thread 8 * m + i of a warp gives the index of row i of matrix m, 16 bytes at a multiple of 16,
and is the one that reads it; for the layouts see `tilelang.tiling.mma`. With `trans` each thread gets its elements of
the transposed matrices, an element being two bytes. `mma` adds in f32, for `i8` in i32, which wraps.

A warp group does together what is called `wgmma`: 128 threads from a multiple of 128 on, all with the same indices of A
and B. `shared.wgmma` is asynchronous. It reads its operands at some time between its start and the end of a wait for
its group; until then nobody may write there, and nobody but later `shared.wgmma` with as many columns may touch its
accumulators. Before, there must be a `wgmma.fence` since the accumulators were last touched, and each thread that
wrote an element of the operands must have passed an `async.fence` and then a barrier. `a` and `b` are matrix
descriptors: bytes of a row, leading and stride offset in bytes, and whether rows run along k; for them and the
accumulators' layout see `tilelang.tiling.warpgroup_layout`.
"""

MMA_KINDS = {"f16": (4, 2), "bf16": (4, 2), "f16_k8": (2, 1), "tf32": (4, 2), "i8": (4, 2)}
"""`kind` of `mma` -> registers of A's and B's fragment: 16 x 16 by 16 x 8 halves, or `_k8`, 16 x 8 by 8 x 8; `tf32`,
16 x 8 by 8 x 8 words (`tilelang.tiling.mma_words`); `i8`, 16 x 32 by 32 x 8 bytes, added in i32
(`tilelang.tiling.mma_bytes`)."""

MMA_DEPTHS = {"f16": 16, "bf16": 16, "f16_k8": 8, "tf32": 8, "i8": 32}
"""How far along k each multiplies."""

WGMMA_KINDS = ("f16", "bf16")
"""`kind` of `shared.wgmma`: the operands' element type."""

MOST_PENDING = 3
"""Groups of asynchronous copies that an `async.wait` may leave under way."""
