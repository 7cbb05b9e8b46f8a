"""Branches whose side is known, loops of no trip or one, results that do not depend on the way taken.

    %y: f32 = if %true { yield %p } else { yield %q }             ==>   %p
    %n: bool = if %c { yield %false } else { yield %true }        ==>   not %c
    %a: f32 = for %c5, %c5, %c1, %init (...) { ... }              ==>   %init
    %a: f32 = for %lo, %hi, %c1, %init (%k, %b) { yield %b }      ==>   %init (loops carry what changes)
"""

from __future__ import annotations

from dataclasses import replace

from tilelang.ir.core import Block, Op, Value
from tilelang.passes.rewrite import Rewriter


def fold_control(here: Rewriter, op: Op) -> None:
    """Rewrite one `if`, `for` or `while`."""
    if op.name == "if":
        _fold_if(here, op)
    elif op.name == "for":
        _fold_for(here, op)
    else:
        _fold_while(here, op)


def _fold_if(here: Rewriter, op: Op) -> None:
    condition = here.constant(op.operands[0])
    if condition is not None:
        _inline(here, op, op.blocks[0 if condition else 1])
        return
    then, orelse = (here.block(block) for block in op.blocks)
    results, thens, elses = [], [], []
    for result, a, b in zip(op.results, then.ops[-1].operands, orelse.ops[-1].operands, strict=True):
        same = _without_branch(here, op.operands[0], a, b)
        if same is None:
            results.append(result)
            thens.append(a)
            elses.append(b)
        else:
            here.rename(result, same)
    blocks = (_yielding(then, thens), _yielding(orelse, elses))
    if results or any(len(block.ops) > 1 for block in blocks):
        here.out.append(replace(op, results=tuple(results), blocks=blocks))


def _without_branch(here: Rewriter, condition: Value, a: Value, b: Value) -> Value | None:
    """The result of a branch that yields a or b, where it can be told outside of it."""
    if a == b:
        return a
    first, second = here.constant(a), here.constant(b)
    if first is not None and repr(first) == repr(second):
        return here.out.const(first, a.type)  # type: ignore[arg-type]
    if a.type != condition.type:
        return None
    if first is True and second is False:
        return condition
    if first is False and second is True:
        return here.out.op("not", condition)
    return None


def _yielding(block: Block, values: list[Value]) -> Block:
    return Block(block.args, (*block.ops[:-1], block.ops[-1].with_operands(*values)))


def _inline(here: Rewriter, op: Op, block: Block) -> None:
    """The block's ops in place of `op`; what it hands over last, without a condition, are the op's results."""
    here.splice(block.ops[:-1])
    handed = block.ops[-1].operands[-len(op.results):] if op.results else ()
    here.replace(op, *map(here.current, handed))


def _fold_for(here: Rewriter, op: Op) -> None:
    trips = _trips(here, op)
    body = op.blocks[0]
    if trips == 0:
        here.replace(op, *op.operands[3:])
    elif trips == 1:
        for argument, value in zip(body.args, (op.operands[0], *op.operands[3:]), strict=True):
            here.rename(argument, value)
        _inline(here, op, body)
    else:
        _keep_for(here, op)


def _trips(here: Rewriter, op: Op) -> int | None:
    """How often the loop runs, if all three bounds are constants."""
    lo, hi, step = (here.constant(value) for value in op.operands[:3])
    if lo is None or hi is None or not step:
        return None
    return max(0, -((int(lo) - int(hi)) // int(step)))


def _keep_for(here: Rewriter, op: Op) -> None:
    """A loop that stays carries only what changes from trip to trip."""
    body = op.blocks[0]
    handed = body.ops[-1].operands
    arguments = body.args[1:]
    constant = [value == argument for value, argument in zip(handed, arguments, strict=True)]
    for fixed, argument, result, init in zip(constant, arguments, op.results, op.operands[3:], strict=True):
        if fixed:
            here.rename(argument, init)
            here.rename(result, init)
    changing = [place for place, fixed in enumerate(constant) if not fixed]
    last = body.ops[-1].with_operands(*(handed[place] for place in changing))
    slim = Block((body.args[0], *(arguments[place] for place in changing)), (*body.ops[:-1], last))
    here.keep(replace(op, operands=(*op.operands[:3], *(op.operands[3 + place] for place in changing)),
                      results=tuple(op.results[place] for place in changing), blocks=(slim,)))


def _fold_while(here: Rewriter, op: Op) -> None:
    """A loop that never starts: the condition is the constant false."""
    head = here.block(op.blocks[0])
    if here.constant(head.ops[-1].operands[0]) is not False:
        here.out.append(replace(op, blocks=(head, here.block(op.blocks[1]))))
        return
    for argument, init in zip(op.blocks[0].args, op.operands, strict=True):
        here.rename(argument, init)
    _inline(here, op, op.blocks[0])
