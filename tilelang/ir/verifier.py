"""The verifier: what must hold of every kernel, at every stage. Cheap enough to run after every pass.

Three layers, in the order they are checked:

1. SSA. A value is defined once in the kernel, before its uses, in the block of the use or one around it.
2. Structure. A terminator stands at the end of a nested block and nowhere else; sizes are within the limits;
   names and attributes are such that the kernel can be printed and read back.
3. The op's own typing rule, and that it is an op of the kernel's level (`tilelang.ir.rules`,
   `tilelang.ir.thread_rules`).

A kernel that fails is a bug in whatever made it, never in a user's program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tilelang.diagnostics import InternalError
from tilelang.dtypes import I64, DType
from tilelang.ir import thread_rules
from tilelang.ir.core import Block, Kernel, Op, TensorType, Type, Value
from tilelang.ir.printer import PLAIN_KEY, VALUE_NAME, op_head, print_kernel
from tilelang.ir.requirements import IllFormed, check_size, require
from tilelang.ir.rules import result_types
from tilelang.ir.thread_ops import THREAD_OPS
from tilelang.ir.tile_ops import TILE_OPS, OpInfo
from tilelang.semantics.types import TileType


def verify(kernel: Kernel) -> None:
    """Check a kernel, in time linear in its size.

    Raises:
        InternalError: names the op and the rule it breaks; `dump` is the whole kernel.
    """
    try:
        _Verifier(*vocabulary(kernel.level)).kernel(kernel)
    except IllFormed as broken:
        raise InternalError("verifier", str(broken), _dump(kernel)) from None


def vocabulary(level: str) -> tuple[Mapping[str, OpInfo], Callable[[Op], tuple[Type, ...]]]:
    """The ops of a level, and the function that knows their typing rules."""
    if level == "tile":
        return TILE_OPS, result_types
    if level == "thread":
        return THREAD_OPS, thread_rules.result_types
    raise InternalError("verifier", f"`{level}` is no level of the IR")


def _quote(op: Op) -> str:
    try:
        return op_head(op)
    except InternalError:  # an attribute that cannot be printed, which is what is wrong with it
        return op.name


def _dump(kernel: Kernel) -> str:
    try:
        return print_kernel(kernel)
    except InternalError as unprintable:
        return str(unprintable)


@dataclass
class _Verifier:
    ops: Mapping[str, OpInfo]
    rule: Callable[[Op], tuple[Type, ...]]
    defined: set[str] = field(default_factory=set)
    visible: dict[str, Value] = field(default_factory=dict)

    def kernel(self, kernel: Kernel) -> None:
        require(not kernel.body.args, "the kernel's body takes no arguments")
        for dim in kernel.dims:
            require(dim.type == TileType(I64), f"dim {dim} must be an i64 scalar")
            self.define(dim)
        names = {dim.name for dim in kernel.dims}
        for param in kernel.params:
            self.define(param)
            if isinstance(param.type, TensorType):
                _check_tensor(param, names)
            else:
                scalar = isinstance(param.type, TileType) and param.type.is_scalar
                require(scalar, f"parameter {param} must be a tensor or a scalar")
        _check_attrs(kernel.attrs)
        for op in kernel.body.ops:
            self.op(op, last=False)

    def block(self, block: Block) -> None:
        """A nested block: what it defines is visible inside it only."""
        outside = len(self.visible)
        for arg in block.args:
            self.define(arg)
        for number, op in enumerate(block.ops):
            self.op(op, last=number == len(block.ops) - 1)
        while len(self.visible) > outside:
            self.visible.popitem()  # the newest first

    def op(self, op: Op, last: bool) -> None:
        try:
            self.signature(op, last)
        except IllFormed as broken:
            raise IllFormed(f"`{_quote(op)}`: {broken}") from None
        for block in op.blocks:
            self.block(block)
        for result in op.results:
            self.define(result)

    def signature(self, op: Op, last: bool) -> None:
        """All there is to check of an op but the insides of its blocks."""
        info = self.ops.get(op.name)
        if info is None:
            raise IllFormed("no such op at this level")
        require(not info.terminator or last, "a terminator must be the last op of a nested block")
        for operand in op.operands:
            known = self.visible.get(operand.name)
            require(known is not None, f"{operand} is used where no definition of it is visible")
            require(known == operand, f"{operand} is used as {operand.type} and defined otherwise")
        _check_attrs(op.attrs)
        expected, actual = self.rule(op), tuple(v.type for v in op.results)
        require(actual == expected, f"the results must be ({', '.join(map(str, expected))})")

    def define(self, value: Value) -> None:
        require(VALUE_NAME.fullmatch(value.name) is not None, f"`{value.name}` is no name for a value")
        require(value.name not in self.defined, f"{value} is defined twice")
        if isinstance(value.type, TileType):
            check_size(value.type)
        self.defined.add(value.name)
        self.visible[value.name] = value


def _check_tensor(param: Value, dims: set[str]) -> None:
    type = param.type
    if isinstance(type, TensorType):
        require(type.mode in ("in", "out", "inout"), f"`{type.mode}` is no mode of a tensor")
        for extent in type.dims:
            known = extent >= 0 if isinstance(extent, int) else extent in dims
            require(known, f"extent {extent} of {param} is neither a size nor a dim of the kernel")


def _check_attrs(attrs: Mapping[str, object]) -> None:
    for key, value in attrs.items():
        require(PLAIN_KEY.fullmatch(key) is not None, f"`{key}` is no name for an attribute")
        require(_is_attr(value), f"attribute {key} is {value!r}, a {type(value).__name__}")


def _is_attr(value: object) -> bool:
    """Exactly the types of `tilelang.ir.core.Attr`: a NumPy scalar, for one, is none of them."""
    if type(value) is tuple:
        return all(map(_is_attr, value))
    return type(value) in (int, float, bool, str, DType)
