"""Chapter 10, the later exercises."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "ops": Proof(
        (
            change(
                "barriers without a place", 'Op("barrier", span=op.span)', 'Op("barrier")', "line of the op that waits"
            ),
            change(
                "no barriers",
                "if any(conflict(a, b) for a in state for b in touched):",
                "if False:",
                r"another thread's element",
            ),
            change(
                "always a barrier",
                "if any(conflict(a, b) for a in state for b in touched):",
                "if state and touched:",
                r"two reads|two arrays|one write",
            ),
            change(
                "the state is kept",
                '                placed.append(Op("barrier", span=op.span))\n                state = NOTHING\n            state |= touched',
                '                placed.append(Op("barrier", span=op.span))\n            state |= touched',
                r"done with|expected",
            ),
            change("own accesses forgotten", "            state |= touched\n", "", r"another thread's element"),
            change(
                "barriers of the kernel do not count",
                '        if op.name == "barrier":\n            state = NOTHING\n            placed.append(op)\n        elif',
                '        if op.name == "barrier":\n            placed.append(op)\n        elif',
                r"one already",
            ),
            change(
                "in every trip", 'if op.name != "if" and self.pays_in_front(op, state):', "if False:", r"in every trip"
            ),
            change("branches like loops", 'op.name != "if" and ', "", r"inside of a branch"),
            change(
                "the inside left as it was", "placed.append(new)", "placed.append(op)", r"next trip|inside of a branch"
            ),
            change(
                "what is inside is forgotten",
                "new, state = self.structured(op, state)",
                "new, _ = self.structured(op, state)",
                r"open behind it|next trip",
            ),
        ),
        (
            """
def ops(self, ops, state):
    result = []

    def barrier_before(op):
        result.append(Op("barrier", span=op.span))
        return NOTHING

    for op in ops:
        if op.name == "barrier":
            result.append(op)
            state = NOTHING
            continue
        if self.is_open(op):
            if op.name in ("for", "while") and self.pays_in_front(op, state):
                state = barrier_before(op)
            op, state = self.structured(op, state)
            result.append(op)
            continue
        mine = self.touched(op)
        hazard = any(conflict(old, new) for new in mine for old in state)
        state = (barrier_before(op) if hazard else state) | mine
        result.append(op)
    return tuple(result), state
""",
            """
def ops(self, ops, state):
    if not ops:
        return (), state
    first, rest = ops[0], ops[1:]
    front = ()
    made = first
    if first.name == "barrier":
        state = NOTHING
    elif self.is_open(first):
        if first.name != "if" and self.pays_in_front(first, state):
            front, state = (Op("barrier", span=first.span),), NOTHING
        made, state = self.structured(first, state)
    else:
        touched = self.touched(first)
        if [1 for a in state for b in touched if conflict(a, b)]:
            front, state = (Op("barrier", span=first.span),), NOTHING
        state = frozenset((*state, *touched))
    behind, end = _PlacingOps(self, rest, state)
    return (*front, made, *behind), end


def _PlacingOps(self, rest, state):
    return ops(self, rest, state)
""",
        ),
    ),
    "wavefronts": Proof(
        (
            change("f64 in one pass", " and not wide", "", "f64 go in halves"),
            change(
                "no broadcast",
                "_rows((word % banks) << 40 | word, lanes, together)\n    first = _first_of_each(rows)",
                "_rows((word % banks) << 40 | word, lanes, together)\n    first = rows != NOBODY",
                r"one pass|several|want them|meets|word",
            ),
            change(
                "one pass a warp",
                "return total * copies, (total - busy) * copies",
                "return busy * copies, 0",
                r"meets 2 words|stride of 2",
            ),
            change("every pass a conflict", "(total - busy) * copies", "total * copies", r"meets|stride|one pass"),
            change(
                "narrow ones unshared",
                "    if item < BANK_BYTES:\n        word = word * item // BANK_BYTES\n",
                "",
                r"share a word|f16",
            ),
            change(
                "wide ones like narrow ones",
                "together = banks = WARP * BANK_BYTES // item if wide else BANKS",
                "together = banks = BANKS",
                r"two banks|f64",
            ),
            change(
                "idle warps have conflicts",
                "np.count_nonzero(passes)",
                "len(passes)",
                r"a warp that is off|off takes no pass",
            ),
            text(
                "all words of a bank",
                """
def wavefronts(index, item, lanes):
    rows, copies = _rows(index * item // BANK_BYTES % BANKS if item <= 4 else index % 16, lanes, WARP)
    total = int(sum(len(r) - len(np.unique(r)) + 1 for r in rows))
    return total * copies, (total - len(rows)) * copies
""",
                r"word|meet|stride|off|expected",
            ),
        ),
        (
            """
from collections import Counter


def wavefronts(index, item, lanes):
    together = WARP if item <= BANK_BYTES else WARP * BANK_BYTES // item
    word = index * item // BANK_BYTES if item < BANK_BYTES else index
    rows, copies = _rows(word.astype(np.int64), lanes, together)
    total = conflicts = 0
    for row in rows.tolist():
        words = set(row) - {2**63 - 1}
        if words:
            passes = max(Counter(w % together for w in words).values())
            total += passes
            conflicts += passes - 1
    return total * copies, conflicts * copies
""",
            """
def wavefronts(index, item, lanes):
    if item > BANK_BYTES:
        banks = WARP * BANK_BYTES // item
        word = index.astype(np.int64)
    else:
        banks, word = BANKS, index.astype(np.int64) * item // BANK_BYTES
    rows, copies = _rows(word, lanes, banks)
    new = _first_of_each(rows)
    passes = np.zeros(len(rows), np.int64)
    for bank in range(banks):
        passes = np.maximum(passes, (new & (rows % banks == bank)).sum(axis=1))
    total = int(passes.sum())
    return total * copies, (total - int((passes > 0).sum())) * copies
""",
        ),
    ),
}
