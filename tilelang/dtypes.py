"""Element types: the thirteen kinds of number a tile can hold.

Plain data, no NumPy: the front end must start fast and run where NumPy does not.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The four families of element types. Nothing converts across families without `as`."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@dataclass(frozen=True, eq=False)
class DType:
    """One element type.

    `bits` is its width in memory (a bool takes 8). For floats, `mantissa` counts the stored
    significand bits and `exponent` the exponent bits (IEEE 754; bfloat16 is f32's upper half).

    Types are compared and looked up at every op that is run, so both are quick where, as nearly always, the two are
    one object.
    """

    name: str
    kind: Kind
    bits: int
    mantissa: int = 0
    exponent: int = 0

    @property
    def bytes(self) -> int:
        """Size of one element in memory, in bytes."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        return self.kind is Kind.SIGNED

    @property
    def is_bool(self) -> bool:
        return self.kind is Kind.BOOL

    @property
    def min_int(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def max_int(self) -> int:
        """Largest value of an integer type."""
        return (1 << (self.bits - (1 if self.is_signed else 0))) - 1

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, DType) and self.name == other.name and astuple(self) == astuple(other)

    def __hash__(self) -> int:
        return hash(self.name)


BOOL = DType("bool", Kind.BOOL, 8)
I8 = DType("i8", Kind.SIGNED, 8)
I16 = DType("i16", Kind.SIGNED, 16)
I32 = DType("i32", Kind.SIGNED, 32)
I64 = DType("i64", Kind.SIGNED, 64)
U8 = DType("u8", Kind.UNSIGNED, 8)
U16 = DType("u16", Kind.UNSIGNED, 16)
U32 = DType("u32", Kind.UNSIGNED, 32)
U64 = DType("u64", Kind.UNSIGNED, 64)
F16 = DType("f16", Kind.FLOAT, 16, mantissa=10, exponent=5)
BF16 = DType("bf16", Kind.FLOAT, 16, mantissa=7, exponent=8)
F32 = DType("f32", Kind.FLOAT, 32, mantissa=23, exponent=8)
F64 = DType("f64", Kind.FLOAT, 64, mantissa=52, exponent=11)

DTYPES: dict[str, DType] = {
    d.name: d for d in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)
}


def wider(a: DType, b: DType) -> DType | None:
    """The type that arithmetic on `a` and `b` has, or None where the language asks for `as`.

    Within one kind the wider type wins; across kinds, and for f16 with bf16, there is none.
    """
    if a == b:
        return a
    if a.kind is not b.kind or a.bits == b.bits:
        return None
    return a if a.bits > b.bits else b


def accumulator(dtype: DType) -> DType:
    """The element type in which `sum`, `prod` and their scans add up `dtype` elements and return them.

    bool and narrow integers widen to 32 bits. Floats keep their type (f16 and bf16 are
    summed in f32 and rounded once at the end, see `compute_type`).
    """
    if dtype.is_bool or (dtype.is_signed and dtype.bits < 32):
        return I32
    if dtype.kind is Kind.UNSIGNED and dtype.bits < 32:
        return U32
    return dtype


def compute_type(dtype: DType) -> DType:
    """The type in which one operation on `dtype` is carried out: f32 for the half floats, else itself."""
    return F32 if dtype.bits == 16 and dtype.kind is Kind.FLOAT else dtype
