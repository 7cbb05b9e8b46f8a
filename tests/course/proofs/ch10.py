"""Chapter 10."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "shared_bytes": Proof(
        (
            change("elements, not bytes", " * value.dtype.bytes", "", r"bytes of each"),
            change("bits", "value.dtype.bytes", "value.dtype.bits", r"bytes of each"),
            change("the body only", "kernel.walk()", "kernel.body.ops", r"blocks in blocks"),
            change(
                "every array",
                "if isinstance(value.type, SharedType)",
                "if hasattr(value.type, 'size')",
                r"registers are not",
            ),
            change("uses too", "op.results", "(*op.results, *op.operands)", r"using an array|expected"),
            change("four bytes each", "value.dtype.bytes", "4", r"bytes of each"),
        ),
        (
            """
def shared_bytes(kernel):
    total = 0
    for op in kernel.walk():
        for value in op.results:
            if isinstance(value.type, SharedType):
                total += value.type.size * (value.type.dtype.bits // 8)
    return total
""",
            """
def shared_bytes(kernel):
    def of_block(block):
        total = 0
        for op in block.ops:
            total += sum(v.type.size * v.dtype.bytes for v in op.results if type(v.type) is SharedType)
            total += sum(map(of_block, op.blocks))
        return total

    return of_block(kernel.body)
""",
        ),
    ),
    "conflict": Proof(
        (
            change("two reads", " or not (a.writes or b.writes)", "", r"two reads do no harm"),
            change("both must write", "(a.writes or b.writes)", "(a.writes and b.writes)", r"a write beside"),
            change("any array", "a.object != b.object or ", "", r"two arrays"),
            change(
                "None is an owner",
                "a.owner is not None and a.owner == b.owner",
                "a.owner == b.owner",
                r"unknown owners|a write beside|read or write does",
            ),
            change(
                "owners ignored", "(a.owner is not None and a.owner == b.owner) or ", "", r"one and the same thread"
            ),
            change(
                "all atomics",
                "a.kind in COMMUTING and a.kind == b.kind",
                "a.kind in COMMUTING and b.kind in COMMUTING",
                r"do not commute",
            ),
            change(
                "exchanges too",
                "a.kind in COMMUTING and a.kind == b.kind",
                "a.kind is not None and a.kind == b.kind",
                r"two exchanges",
            ),
            change(
                "atomics ignored",
                "return not (a.kind in COMMUTING and a.kind == b.kind)",
                "return True",
                r"in any order",
            ),
            change("placed ignored", " or (a.placed and b.placed)", "", r"stand already"),
            change("one placed is enough", "a.placed and b.placed", "a.placed or b.placed", r"only one of the two"),
        ),
        (
            """
def conflict(a, b):
    harmless = (
        a.object != b.object
        or (not a.writes and not b.writes)
        or (a.owner is not None and a.owner == b.owner)
        or (a.placed and b.placed)
        or (a.kind == b.kind and a.kind in COMMUTING)
    )
    return not harmless
""",
            """
def conflict(a, b):
    if a.object == b.object and (a.writes or b.writes):
        same_thread = None not in (a.owner, b.owner) and a.owner == b.owner
        commute = {a.kind, b.kind} in [{kind} for kind in COMMUTING]
        return not same_thread and not commute and not (a.placed and b.placed)
    return False
""",
        ),
    ),
    "speed_of_light": Proof(
        (
            change("f64 if in doubt", "work.f64 > work.f32", "work.f64 >= work.f32", "no more f64 than f32"),
            change("all bytes", "work.compulsory /", "work.hbm /", r"compulsory bytes"),
            change("the faster", "return max(", "return min(", r"compulsory|decides|peak"),
            change(
                "one after the other",
                "max(work.compulsory / gpu.memory_rate, work.dot_flops / (work.tensor or plain))",
                "work.compulsory / gpu.memory_rate + work.dot_flops / (work.tensor or plain)",
                r"slower decides",
            ),
            change("no tensor cores", "(work.tensor or plain)", "plain", r"tensor cores"),
            change("always f32", "gpu.f64 if work.f64 > work.f32 else gpu.f32", "gpu.f32", r"mostly f64"),
            change("all operations", "work.dot_flops", "work.flops", r"products|decides|peak"),
        ),
        (
            """
def speed_of_light(gpu, work):
    peak = work.tensor
    if not peak:
        peak = gpu.f32 if work.f32 >= work.f64 else gpu.f64
    times = [work.compulsory / gpu.memory_rate, work.dot_flops / peak]
    return float(sorted(times)[-1])
""",
            """
def speed_of_light(gpu, work):
    if work.tensor > 0:
        rate = work.tensor
    elif work.f64 > work.f32:
        rate = gpu.f64
    else:
        rate = gpu.f32
    products = work.dot_flops / rate
    memory = work.compulsory / gpu.memory_rate
    return products if products > memory else memory
""",
        ),
    ),
    "swizzled": Proof(
        (
            change("no swizzle", "(column ^ row % columns)", "column", r"different banks"),
            change("beyond the row", "row % columns", "row", r"within its row|keeps its 32 places"),
            change("added", "column ^ row % columns", "(column + row) % columns", r"column \^"),
            change("no row", "row * columns + ", "", r"keeps its 32 places"),
            change("half of it", "column ^ row % columns", "column ^ row % columns // 2", r"different banks"),
            change(
                "without brackets",
                "row * columns + (column ^ row % columns)",
                "row * columns + column ^ row % columns // 1 * 3 % columns",
                r"banks|places|within",
            ),
        ),
        (
            """
def swizzled(row, column, columns):
    moved = 0
    for bit in range(columns.bit_length()):
        a, b = column >> bit & 1, (row % columns) >> bit & 1
        moved |= (a != b) << bit
    return row * columns + moved
""",
            """
def swizzled(row, column, columns):
    turn = row & (columns - 1)
    return columns * row + ((column | turn) - (column & turn))
""",
        ),
    ),
    "occupancy": Proof(
        (
            change(
                "registers not rounded",
                "-(-block.registers * gpu.warp_size // REGISTER_UNIT) * REGISTER_UNIT",
                "block.registers * gpu.warp_size",
                r"rounded up|four limits",
            ),
            change("warps not in groups", " // WARP_UNIT * WARP_UNIT", "", r"multiple of 4|four limits"),
            change(
                "shared memory forgotten",
                "gpu.shared_per_sm // taken if taken else gpu.blocks_per_sm",
                "gpu.blocks_per_sm",
                r"run out first",
            ),
            change(
                "warps for blocks", "warps_by_registers // block.warps", "warps_by_registers", r"run out first|limits"
            ),
            change("division by zero", "max(per_warp, 1)", "per_warp", r"ZeroDivision"),
            change("the largest", "min(limits.values())", "max(limits.values())", r"run out first"),
            change("blocks are warps", "blocks * block.warps, gpu", "blocks, gpu", r"run out first"),
            change(
                "nothing taken",
                "// taken if taken else gpu.blocks_per_sm",
                "// max(taken, 1)",
                r"run out first|takes nothing|multiple of 4",
            ),
        ),
        (
            """
from math import ceil


def occupancy(gpu, block):
    register_blocks = ceil(block.registers * gpu.warp_size / REGISTER_UNIT)
    warps = gpu.registers_per_sm if not register_blocks else gpu.registers_per_sm // (register_blocks * REGISTER_UNIT)
    warps -= warps % WARP_UNIT
    shared = _shared_taken(gpu, block)
    by_shared = gpu.blocks_per_sm
    if shared > 0:
        by_shared = gpu.shared_per_sm // shared
    names = ("warps", "blocks", "registers", "shared memory")
    numbers = (gpu.warps_per_sm // block.warps, gpu.blocks_per_sm, warps // block.warps, by_shared)
    blocks = sorted(numbers)[0]
    return Occupancy(blocks, blocks * block.warps, gpu.warps_per_sm, dict(zip(names, numbers)))
""",
            """
def occupancy(gpu, block):
    limits = {"warps": gpu.warps_per_sm // block.warps, "blocks": gpu.blocks_per_sm}
    each = block.registers * gpu.warp_size
    each += -each % REGISTER_UNIT
    groups = gpu.registers_per_sm // (max(each, 1) * WARP_UNIT) if each else gpu.registers_per_sm // WARP_UNIT
    fitting = gpu.registers_per_sm // max(each, 1)
    limits["registers"] = (fitting - fitting % WARP_UNIT) // block.warps
    taken = _shared_taken(gpu, block)
    limits["shared memory"] = gpu.shared_per_sm // taken if taken else gpu.blocks_per_sm
    fewest = min(limits[name] for name in limits)
    return Occupancy(blocks=fewest, warps=block.warps * fewest, most=gpu.warps_per_sm, limits=limits)
""",
        ),
    ),
    "sectors": Proof(
        (
            change(
                "elements, not bytes", "position * item // SECTOR", "position // SECTOR", r"sectors|sector of its own"
            ),
            change("every lane", "_first_of_each(rows)", "rows != NOBODY", r"4 sectors"),
            change("cache lines", "// SECTOR", "// 128", r"4 sectors"),
            change("warps of 16", "lanes, WARP)", "lanes, 16)", r"sector|share|counts|warp"),
            change("one for all", "return lanes.warps", "return 1", r"two warps"),
            change(
                "counted over all warps",
                "int(np.count_nonzero(_first_of_each(rows))) * copies",
                "len(np.unique(rows[rows < 2**62])) * copies",
                r"move 16|warp",
            ),
            text(
                "as if all lanes were neighbours",
                """
def sectors(position, item, lanes):
    return lanes.count * item // SECTOR
""",
                r"fifth sector|sector of its own|share",
            ),
        ),
        (
            """
def sectors(position, item, lanes):
    if position.shape[2] == 1:
        return lanes.warps
    rows, copies = _rows((position * item) // SECTOR, lanes, WARP)
    total = 0
    for row in rows.tolist():
        total += len(set(row) - {2**63 - 1})
    return total * copies
""",
            """
def sectors(position, item, lanes):
    trips, programs, threads = lanes.shape
    where = np.broadcast_to(position * item // SECTOR, lanes.shape).reshape(-1, threads)
    on = np.ones(where.shape, bool) if lanes.mask is None else np.broadcast_to(lanes.mask, lanes.shape).reshape(-1, threads)
    total = 0
    for row, active in zip(where, on):
        for start in range(0, threads, WARP):
            part = slice(start, start + WARP)
            total += len(np.unique(row[part][active[part]]))
    return int(total)
""",
        ),
    ),
}
