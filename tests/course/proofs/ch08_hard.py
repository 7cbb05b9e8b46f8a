"""Chapter 8, the later exercises."""

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "find": Proof(
        (
            text(
                "never anything",
                """
def find(self, key):
    return None
""",
                r"second product is the first",
            ),
            text(
                "this block only",
                """
def find(self, key):
    return self.scopes[-1].get(key)
""",
                r"serves inside",
            ),
            text(
                "what closed blocks had",
                """
KEPT = []


def find(self, key):
    KEPT.extend(s for s in self.scopes if not any(s is k for k in KEPT))
    return next((k[key] for k in KEPT if key in k), None)
""",
                r"InternalError|of no use behind it|only one of the two|no definition",
            ),
            text(
                "by name alone",
                """
def find(self, key):
    for scope in self.scopes:
        for known, value in scope.items():
            if known[0] == key[0]:
                return value
    return None
""",
                r"InternalError|no two of these|expected",
            ),
            text(
                "an error",
                """
def find(self, key):
    return self.scopes[-1][key]
""",
                r"KeyError",
            ),
            text(
                "the key",
                """
def find(self, key):
    return next((key for scope in self.scopes if key in scope), None)
""",
                r"InternalError|AttributeError|expected",
            ),
        ),
        (
            """
def find(self, key):
    for scope in self.scopes[::-1]:
        if key in scope:
            return scope[key]
    return None
""",
            """
from collections import ChainMap


def find(self, key):
    return ChainMap(*reversed(self.scopes)).get(key)
""",
        ),
    ),
    "decide": Proof(
        (
            change("less is at most", "a.hi < b.lo + (not strict)", "a.hi <= b.lo", r"all pairs"),
            change("never false", "return False if a.lo >= b.hi + (not strict) else None", "return None", r"all pairs"),
            change("guesses", "return False if a.lo >= b.hi + (not strict) else None", "return False", r"all pairs"),
            change("the offset of at most", "a.limits[dim] <= -strict", "a.limits[dim] <= -1", r"a <= N needs"),
            change("the offset of less", "a.limits[dim] <= -strict", "a.limits[dim] <= 0", r"a < N needs"),
            change(
                "any dim",
                "(dim in a.limits and a.limits[dim] <= -strict)",
                "any(o <= -strict for o in a.limits.values())",
                r"independent|that dim",
            ),
            change(
                "greater is less",
                'decide("le" if name == "gt" else "lt", a, b, dim)',
                'decide("lt" if name == "gt" else "le", a, b, dim)',
                r"all pairs",
            ),
            change("not turned round", "None if opposite is None else not opposite", "opposite", r"all pairs"),
            change("other names", '    if name not in ("lt", "le"):\n        return None\n', "", r"four orderings"),
        ),
        (
            """
def decide(name, a, b, dim=None):
    if name not in ("lt", "le", "gt", "ge"):
        return None
    gap = 1 if name in ("lt", "ge") else 0
    always_below = a.hi + gap <= b.lo
    if dim is not None and dim in a.limits:
        always_below = always_below or a.limits[dim] + gap <= 0
    never_below = a.lo + gap > b.hi
    below = True if always_below else False if never_below else None
    if name in ("lt", "le") or below is None:
        return below
    return not below
""",
            """
def decide(name, a, b, dim=None):
    limit = a.limits.get(dim, 1)
    match name:
        case "lt":
            return True if a.hi < b.lo or limit < 0 else False if a.lo >= b.hi else None
        case "le":
            return True if a.hi <= b.lo or limit <= 0 else False if a.lo > b.hi else None
        case "ge":
            return False if a.hi < b.lo or limit < 0 else True if a.lo >= b.hi else None
        case "gt":
            return False if a.hi <= b.lo or limit <= 0 else True if a.lo > b.hi else None
    return None
""",
        ),
    ),
    "_hoist": Proof(
        (
            change(
                "what is defined inside moves",
                "and not any(operand.name in inside for operand in op.operands)",
                "",
                r"follows from the loop|in order|sum is not|same in every trip",
            ),
            change(
                "moved ones stay inside",
                "                inside.difference_update(result.name for result in op.results)\n",
                "",
                r"may follow, in order",
            ),
            change(
                "every load moves",
                'op.name == "load" and not clobbers(writes, op.operands[0])',
                'op.name == "load"',
                r"writes t|atomic",
            ),
            change(
                "no load moves",
                'is_pure(op) or (op.name == "load" and not clobbers(writes, op.operands[0]))',
                "is_pure(op)",
                r"nothing in the loop writes x",
            ),
            change("everything moves", "movable = is_pure(op) or", "movable = True or", r"stays|writes t|assert"),
            change(
                "the first block only",
                "    for block in loop.blocks:\n        kept",
                "    for block in loop.blocks[:1]:\n        kept",
                r"both give up",
            ),
            change(
                "arguments do not count",
                "set().union(*(defined_in(block) for block in loop.blocks))",
                "{r.name for b in loop.blocks for o in b.walk() for r in o.results}",
                r"loop's index|sum is not|same in every",
            ),
        ),
        (
            """
def _hoist(loop):
    inside = set()
    for block in loop.blocks:
        inside |= defined_in(block)
    writes, moved, blocks = written([loop]), [], []

    def may_move(op):
        if op.name in ("yield", "condition") or {v.name for v in op.operands} & inside:
            return False
        return not clobbers(writes, op.operands[0]) if op.name == "load" else is_pure(op)

    for block in loop.blocks:
        stay = []
        for op in block.ops:
            if may_move(op):
                moved.append(op)
                inside -= {r.name for r in op.results}
            else:
                stay.append(op)
        blocks.append(replace(block, ops=tuple(stay)))
    return moved, replace(loop, blocks=tuple(blocks))
""",
            """
def _hoist(loop):
    changing = {n for b in loop.blocks for n in defined_in(b)}
    writes = written((loop,))
    out = []
    for block in loop.blocks:
        for op in block.ops:
            fixed = changing.isdisjoint(v.name for v in op.operands)
            plain = is_pure(op) and op.name not in ("yield", "condition")
            safe_load = op.name == "load" and not clobbers(writes, op.operands[0])
            if fixed and (plain or safe_load):
                out.append(op)
                changing -= set(r.name for r in op.results)
    gone = {id(op) for op in out}
    blocks = tuple(Block(b.args, tuple(op for op in b.ops if id(op) not in gone)) for b in loop.blocks)
    return out, replace(loop, blocks=blocks)
""",
        ),
    ),
}
