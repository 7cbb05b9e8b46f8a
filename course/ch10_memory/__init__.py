"""Chapter 10: what an access costs, and who has to wait for whom."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.machine.occupancy:shared_bytes",
        "warm-up",
        task=(
            "An array is declared by an op whose result has the type `SharedType`: `size` elements of "
            "`dtype`. `kernel.walk()` gives all ops, those in loops and branches too."
        ),
        example="""
        >>> array = Op("shared", (), (Value("s", SharedType(F32, 256)),))
        >>> shared_bytes(Kernel("k", (), (), Block((), (array,)), "thread"))
        1024
        """,
        hints=(
            "Go through the results of all ops.",
            "`value.type.size * value.dtype.bytes`, for those that are shared.",
        ),
    ),
    Exercise(
        "tilelang.memory.barriers:conflict",
        "warm-up",
        task=(
            "Two accesses by different threads of a block, without a barrier between them, may happen in "
            "any order. That is harmless if they are to different arrays; if both only read; if it is "
            "certain that one and the same thread makes both (`owner`, where it is not None); if the "
            "barriers between both stand already (both are `placed`); or if both are atomics of one kind "
            "among `COMMUTING`."
        ),
        example="""
        >>> s = Value("s", SharedType(F32, 32))
        >>> conflict(Access(s, True), Access(s, False)), conflict(Access(s, False), Access(s, False))
        (True, False)
        """,
        hints=(
            "Ask for each harmless case in turn.",
            "Two owners of None are not the same owner: nothing is known of them.",
        ),
    ),
    Exercise(
        "tilelang.machine.roofline:speed_of_light",
        "core",
        task=(
            "Both happen at the same time, so the slower of the two decides. `gpu.memory_rate` is in bytes "
            "a second, `gpu.f32`, `gpu.f64` and `work.tensor` in operations a second; `work.tensor` is 0 "
            "where tensor cores cannot do the products. The f64 peak is meant if the kernel does more f64 "
            "than f32 arithmetic."
        ),
        example="""
        >>> from tilelang.machine.gpus import GPUS
        >>> seconds = speed_of_light(GPUS["a100"], Work(1, compulsory=1e9, dot_flops=1e9))
        >>> f"{seconds * 1e6:.0f} us"
        '643 us'
        """,
        hints=(
            "Bytes over their rate, and operations over theirs.",
            "`x or y` is y where x is 0.",
        ),
    ),
    Exercise(
        "course.extra:swizzled",
        "core",
        task=(
            "Shared memory has 32 banks; the f32 element at index `i` is in bank `i % 32`. In a tile of 32 "
            "columns a column lies in one bank, and 32 threads that read it wait for each other. If the "
            "element of column `c` in row `r` is kept at column `c ^ (r % columns)` of its row, rows and "
            "columns are both free of conflicts. `^` is exclusive or."
        ),
        example="""
        >>> swizzled(0, 5, 32), swizzled(1, 5, 32), swizzled(3, 0, 32)
        (5, 36, 99)
        """,
        hints=(
            "The row begins at `row * columns`.",
            "In Python `^` binds tighter than `==` but looser than `+`: use brackets.",
        ),
    ),
    Exercise(
        "tilelang.machine.occupancy:occupancy",
        "core",
        task=(
            "Four resources limit the number of blocks. Places for warps and for blocks: "
            "`gpu.warps_per_sm`, `gpu.blocks_per_sm`. Registers: a warp takes `block.registers * "
            "gpu.warp_size` of them, rounded up to a multiple of `REGISTER_UNIT`; an SM has "
            "`gpu.registers_per_sm`, shared out to warps in groups of `WARP_UNIT`, so round the number of "
            "warps down to a multiple of that. Shared memory: `_shared_taken(gpu, block)` bytes a block of "
            "`gpu.shared_per_sm`; a block that takes none is limited by the places for blocks. The keys of "
            "`limits` are `warps`, `blocks`, `registers`, `shared memory`, in this order. A kernel without "
            "registers takes none."
        ),
        example="""
        >>> from tilelang.machine.gpus import GPUS
        >>> found = occupancy(GPUS["a100"], Resources(threads=256, registers=64, shared=0))
        >>> found.blocks, found.limiter
        (4, 'registers')
        """,
        hints=(
            "Rounding up: `-(-a // unit) * unit`. Rounding down: `a // unit * unit`.",
            "Warps first, then blocks: `warps // block.warps`.",
            "The smallest limit is the number of blocks; their warps are `blocks * block.warps`.",
        ),
    ),
    Exercise(
        "tilelang.machine.traffic:sectors",
        "core",
        task=(
            "`position` has the axes (trips, programs, threads), with extent 1 along an axis on which it "
            "does not depend. `_rows(keys, lanes, WARP)` gives (rows, copies): a row for each warp with "
            "the keys of its active lanes, sorted, and how many such rows each stands for. "
            "`_first_of_each(rows)` marks the first of each run of equal keys. Where the position is the "
            "same for all threads, every warp with an active lane (`lanes.warps`) moves one sector."
        ),
        example="""
        >>> thread = np.arange(32).reshape(1, 1, 32)
        >>> sectors(thread, 4, Lanes((1, 1, 32))), sectors(thread * 8, 4, Lanes((1, 1, 32)))
        (4, 32)
        """,
        hints=(
            "Which sector does an element lie in? Its first byte is at `position * item`, a sector has "
            "`SECTOR` bytes.",
            "Lanes of one warp that want the same sector share it: count the different keys in each row.",
            "Count the marks, and multiply by the copies.",
        ),
    ),
    Exercise(
        "tilelang.memory.barriers:_Placing.ops",
        "hard",
        task=(
            "`state` is the set of accesses since the last barrier; `NOTHING` is the empty one. An op that "
            "is a `barrier` empties it. For an op in which barriers may stand (`self.is_open(op)`): if it "
            "is a loop and `self.pays_in_front(op, state)`, put a barrier in front; then "
            "`self.structured(op, state)` gives the op with its own barriers, and the state after it. Any "
            "other op touches `self.touched(op)`: if one of these conflicts with one in the state, put a "
            "barrier in front, which empties the state; afterwards they belong to the state. A new barrier "
            "is `Op(\"barrier\", span=op.span)`."
        ),
        example="""
        >>> from tilelang.ir.parser import parse_kernel
        >>> kernel = parse_kernel('''kernel @k() dims() thread {threads = 32} {
        ...     %t: i32 = thread_id
        ...     %s: shared i32[32] = shared
        ...     shared.store %s, %t, %t
        ...     %last: i32 = const {value = 31}
        ...     %o: i32 = sub %last, %t
        ...     %a: i32 = shared.load %s, %o
        ... }''')
        >>> placed, state = ops(_Placing(kernel), kernel.body.ops[2:], NOTHING)
        >>> [op.name for op in placed]
        ['shared.store', 'const', 'sub', 'barrier', 'shared.load']
        """,
        hints=(
            "One loop over the ops, with the list of what is placed and the state.",
            "`any(conflict(a, b) for a in state for b in touched)` asks for a hazard.",
            "After a barrier only the op's own accesses are open: set the state to NOTHING first, then add "
            "them.",
            "An `if` never gets a barrier in front for what is inside it: `pays_in_front` is for loops.",
        ),
    ),
    Exercise(
        "tilelang.machine.traffic:wavefronts",
        "hard",
        task=(
            "The axes are as in `sectors`. A warp is served in passes: in each, every bank gives one word "
            "to any number of lanes; so a warp takes as many passes as its busiest bank has different "
            "words. Elements narrower than `BANK_BYTES` share a word; wider ones take several banks, so "
            "that only `WARP * BANK_BYTES // item` lanes go together, over as many (wider) banks. A "
            "conflict is a pass beyond a warp's first. `_rows(keys, lanes, together)` gives sorted rows of "
            "that many lanes, in which `NOBODY` stands for an inactive one, and the copies of each; "
            "`_first_of_each` marks different keys. `_near` is a shortcut that you need not take."
        ),
        example="""
        >>> thread = np.arange(32).reshape(1, 1, 32)
        >>> wavefronts(thread, 4, Lanes((1, 1, 32))), wavefronts(thread * 32, 4, Lanes((1, 1, 32)))
        ((1, 0), (32, 31))
        """,
        hints=(
            "Number the words: `index` itself, divided by the elements in a word if they are narrow.",
            "Make one key of bank and word, such as `bank << 40 | word`: equal keys are one word and one "
            "pass.",
            "For each row count the marked keys of each bank, and take the largest count.",
            "The sum of these is the wavefronts; less one for each row with anyone active, the conflicts.",
        ),
    ),
)

CHAPTER = Chapter(10, "memory", "Memory", "memory", EXERCISES)
