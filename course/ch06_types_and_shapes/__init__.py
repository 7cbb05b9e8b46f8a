"""Chapter 6: element types, literals, broadcasting, the shapes of products and reductions."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.dtypes:wider",
        "warm-up",
        example="""
        >>> wider(F16, F32) == F32
        True
        >>> wider(I32, F32) is None
        True
        """,
        hints=(
            "There are three cases: the same type twice, two types that do not mix, and one that wins.",
            "`a.kind` tells signed, unsigned, float and bool apart; `a.bits` is the width. Two different "
            "types of one kind and one width (f16 and bf16) do not mix.",
        ),
    ),
    Exercise(
        "tilelang.semantics.operators:common_dtype",
        "warm-up",
        hints=(
            "Go along the types and keep what all so far have together, starting with the first.",
            "`wider(together, dtype)` is the next one; where it is None, so is the answer.",
        ),
    ),
    Exercise(
        "tilelang.semantics.builtins.reductions:reduced_shape",
        "warm-up",
        hints=(
            "`enumerate(shape)` gives each extent with the number of its axis.",
            "With `keepdims` every axis stays, and those in `axes` have extent 1; without it those are "
            "left out.",
        ),
    ),
    Exercise(
        "tilelang.semantics.broadcasting:broadcast_extents",
        "core",
        task=(
            "An extent is an int, or a symbolic one (`Sym`) as long as the size of a dim is not known. "
            "`equal(a, b)` is True or False where that is sure, and None where it depends. If one of two "
            "extents is a number, prefer it."
        ),
        example="""
        >>> broadcast_extents(1, 8), broadcast_extents(8, 8), broadcast_extents(8, 4)
        (8, 8, None)
        >>> broadcast_extents(symbol("N"), 8)
        8
        """,
        hints=(
            "Begin with the extents of 1: they take the other's.",
            "Only `equal(a, b) is False` makes a mistake of two extents; None is taken for equal.",
            "Which of the two to give back: the one that is no `Sym`, if there is one.",
        ),
    ),
    Exercise(
        "tilelang.semantics.broadcasting:broadcast_shapes",
        "core",
        hints=(
            "Shapes are aligned on the right: put as many 1s in front of the shorter one as it lacks.",
            "Then go along both at once with `zip` and ask `broadcast_extents` for each pair.",
            "One pair that gives None makes the whole answer None.",
        ),
    ),
    Exercise(
        "tilelang.semantics.builtins.products:dot_shape",
        "core",
        hints=(
            "First what is no product at all: different ranks, or a rank that is neither 2 nor 3.",
            "`same_shape(a[:-2], b[:-2])` compares the batch axes, whether there are any or not.",
            "The inner extents, `a[-1]` and `b[-2]`, must not be surely different: `equal(...) is False`.",
        ),
    ),
    Exercise(
        "tilelang.semantics.rounding:holds_int",
        "core",
        task=(
            "A float holds an integer exactly if its digits, from the first binary 1 to the last, fit into "
            "`dtype.mantissa + 1` bits, and if it is not beyond the largest. No number is a bool."
        ),
        example="""
        >>> holds_int(I8, 127), holds_int(I8, 128), holds_int(F16, 2049)
        (True, False, False)
        """,
        hints=(
            "Integers are the easy case: `dtype.min_int <= value <= dtype.max_int`.",
            "Trailing zero bits cost a float nothing. `value & -value` is the lowest bit that is set.",
            "Divide that out, and ask how many bits are left with `bit_length()`. Zero needs a case of its "
            "own.",
        ),
    ),
    Exercise(
        "tilelang.semantics.literals:fits",
        "core",
        example="""
        >>> fits(300, U8), fits(1, F32), fits(1.5, I32), fits(1e300, F32)
        (False, True, False, False)
        """,
        hints=(
            "Three kinds of literal: a `Sym` (an int that is not known yet), a float, an int. Ask in this "
            "order.",
            "A float may be rounded, but not to infinity: compare `round_float(value, dtype)`; infinity "
            "itself stays.",
            "For an int `holds_int` has the answer. A `Sym` fits every type of number.",
        ),
    ),
    Exercise(
        "tilelang.semantics.literals:coerce",
        "core",
        task=(
            "`convert(value, dtype)` makes the conversion; `converts(source, target)` says whether one is "
            "allowed without `as`. `mistake(code, title, span, label=..., notes=..., help=...)` makes what "
            "you raise: code E0303, a title that names `what`, the type it needs and the type it got, and "
            "the help that `_conversion_help(source, target, what)` gives."
        ),
        example="""
        >>> x = Const(1.0, type=TileType(F16))
        >>> str(coerce(x, F32, "the store to `y`").type)
        'f32'
        """,
        hints=(
            "A `Literal` always goes to `convert`, which reports by itself what does not fit.",
            "Everything else converts if `converts(value.type.dtype, dtype)`.",
            "What is left is the mistake: raise it with `span=value.span`.",
        ),
    ),
    Exercise(
        "tilelang.semantics.rounding:round_float",
        "hard",
        task=(
            "Use exact arithmetic on Python floats: `math.frexp`, `math.ldexp` and `round`, which rounds "
            "halves to even. `dtype.mantissa` counts the stored significand bits, `dtype.exponent` the "
            "exponent bits. The smallest normal number is `2.0 ** (2 - 2 ** (dtype.exponent - 1))`. Keep "
            "the sign of zero."
        ),
        example="""
        >>> round_float(0.1, F16), round_float(65520.0, F16)
        (0.0999755859375, inf)
        """,
        hints=(
            "Zero, infinity, NaN and f64 come back as they are.",
            "`math.frexp(value)` tells between which powers of two the value lies; from that follows what "
            "the last bit of its significand is worth.",
            "Scale by `math.ldexp(value, -last_bit)` so that the last bit is worth 1, round, and scale "
            "back.",
            "Below the smallest normal number the last bit stops getting smaller. Above the largest there "
            "is only infinity.",
        ),
    ),
)

CHAPTER = Chapter(6, "types_and_shapes", "Types and shapes", "types", EXERCISES)
