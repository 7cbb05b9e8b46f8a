"""The operands of a memory op by their names: one place that knows their order."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.diagnostics import NOWHERE, Span
from tilelang.ir.core import Op, TensorType, Value


@dataclass(frozen=True)
class Access:
    """What a load, store or atomic touches. See `tilelang.ir.tile_ops` for the meaning of the parts."""

    tensor: Value
    indices: tuple[Value, ...]
    value: Value | None = None
    expected: Value | None = None
    mask: Value | None = None
    other: Value | None = None
    pointwise: bool = False
    checked: tuple[bool, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The accessed shape."""
        if self.pointwise:
            return self.indices[0].shape
        return tuple(extent for index in self.indices for extent in index.shape)


def access(op: Op) -> Access:
    """Take a `load`, `store` or `atomic` apart."""
    tensor = op.operands[0]
    if not isinstance(tensor.type, TensorType):
        raise TypeError(f"operand 0 of {op.name} is a {tensor.type}, not a tensor")
    rank = tensor.type.rank
    rest = list(op.operands[1 + rank:])
    value = rest.pop(0) if op.name in ("store", "atomic") else None
    expected = rest.pop(0) if op.attrs.get("kind") == "cas" else None
    mask = rest.pop(0) if op.attrs["mask"] else None
    other = rest.pop(0) if op.attrs.get("other") else None
    return Access(tensor, op.operands[1:1 + rank], value, expected, mask, other,
                  bool(op.attrs["pointwise"]), tuple(op.attrs["checked"]))  # type: ignore[arg-type]


def access_op(name: str, parts: Access, results: tuple[Value, ...] = (), *, kind: str | None = None,
              span: Span = NOWHERE) -> Op:
    """Put a `load`, `store` or `atomic` together; the inverse of `access`."""
    optional = (parts.value, parts.expected, parts.mask, parts.other)
    operands = (parts.tensor, *parts.indices, *(v for v in optional if v is not None))
    attrs: dict = {"pointwise": parts.pointwise, "mask": parts.mask is not None, "checked": parts.checked}
    if name == "load":
        attrs["other"] = parts.other is not None
    if kind is not None:
        attrs["kind"] = kind
    return Op(name, operands, results, attrs, span=span)
