"""Chapter 8: passes, and what each may not do."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.passes.fold:wrap",
        "warm-up",
        example="""
        >>> wrap(130, 8, True), wrap(130, 8, False), wrap(-1, 8, False)
        (-126, 130, 255)
        """,
        hints=(
            "`number & ((1 << bits) - 1)` are the low bits, of negative numbers too.",
            "A signed type reads a set top bit as `-2 ** bits`.",
        ),
    ),
    Exercise(
        "tilelang.passes.effects:clobbers",
        "warm-up",
        task=(
            "`writes` are names of tensors, perhaps with `ANY` among them: an atomic, after which any "
            "tensor that is not read-only may hold something new. A tensor of mode `in` is read-only."
        ),
        example="""
        >>> x = Value("x", TensorType(F32, (8,), "inout"))
        >>> clobbers(frozenset({"x"}), x), clobbers(frozenset({"y"}), x), clobbers(frozenset({ANY}), x)
        (True, False, True)
        """,
        hints=(
            "A read-only tensor is never changed, whatever is written.",
            "Else its name, or `ANY`, is in the set.",
        ),
    ),
    Exercise(
        "tilelang.passes.effects:written",
        "core",
        task=(
            "Operand 0 of a `store` is the tensor. An `atomic` counts as `ANY`, and as nothing else. Look "
            "into the blocks of loops and branches, and the blocks in those."
        ),
        example="""
        >>> y = Value("y", TensorType(F32, (8,), "inout"))
        >>> written([Op("store", (y,)), Op("load", (y,))])
        frozenset({'y'})
        """,
        hints=(
            "Collect into a set; go through the ops in a loop.",
            "For each block of an op call yourself, and join the sets.",
        ),
    ),
    Exercise(
        "tilelang.passes.identities:is_neutral",
        "core",
        task=(
            "`number` is the right operand, None if it is not known. For integers and bool `RIGHT_NEUTRAL` "
            "says which number that is for an op; `and` is not in it, because its neutral number has all "
            "bits set, which depends on the type: True, -1, or the largest. For floats "
            "`FLOAT_RIGHT_NEUTRAL` gives the number's `repr`, because 0.0 and -0.0 are equal and yet not "
            "the same."
        ),
        example="""
        >>> is_neutral("add", I32, 0), is_neutral("add", F32, 0.0), is_neutral("and", U8, 255)
        (True, False, True)
        """,
        hints=(
            "Four cases in this order: not known, a float, `and`, the rest.",
            "For floats compare texts: `repr(number) == FLOAT_RIGHT_NEUTRAL.get(name)`.",
            "An op that is in neither table has no neutral number.",
        ),
    ),
    Exercise(
        "tilelang.passes.identities:is_exact",
        "core",
        task=(
            "Where it is, two casts in a row are one. Nothing but bool survives a cast to bool; bool "
            "survives every cast. A float needs at least as many bits of mantissa and of exponent. An "
            "integer survives in a float if all its digits fit into `mantissa + 1` bits (a signed one has "
            "a digit less than bits) and its range is in reach: `bits < 2 ** (exponent - 1)`. No float "
            "survives as an integer."
        ),
        example="""
        >>> is_exact(I16, F32), is_exact(I32, F32), is_exact(F16, BF16), is_exact(U8, I16)
        (True, False, False, True)
        """,
        hints=(
            "Go case by case: equal types, bool as target, bool as source, floats, integer to float, "
            "integer to integer.",
            "Integer to integer: every value of the source must be one of the target; compare `min_int` "
            "and `max_int`.",
        ),
    ),
    Exercise(
        "tilelang.passes.ranges:_mul",
        "core",
        task=(
            "A `Range` is `lo <= v <= hi`; `limits` says below which dims a value stays, which a product "
            "does not keep. The type's overflow is dealt with elsewhere."
        ),
        example="""
        >>> found = _mul(Op("mul"), [Range(-2, 3), Range(4, 5)])
        >>> found.lo, found.hi
        (-10, 15)
        """,
        hints=(
            "With negative numbers the largest factor does not give the largest product.",
            "The extremes are among the four products of the ends.",
        ),
    ),
    Exercise(
        "tilelang.passes.cse:_Sharing.find",
        "core",
        task=(
            "Common subexpressions: `self.scopes` is a list of tables from a key (what makes two ops the "
            "same) to the value that has it already, one table for each open block, the outermost first. "
            "An earlier value may be used if its block is open: those are the ones that are surely "
            "computed before."
        ),
        example="""
        >>> from tilelang.ir.parser import parse_kernel
        >>> sharing = _Sharing(parse_kernel("kernel @k() dims() tile { }"))
        >>> sharing.scopes = [{"a * b": "outer"}, {}]
        >>> find(sharing, "a * b"), find(sharing, "a + b")
        ('outer', None)
        """,
        hints=(
            "A block sees its own table and those around it.",
            "Ask the tables one after the other, the innermost first.",
        ),
    ),
    Exercise(
        "tilelang.passes.ranges:decide",
        "hard",
        task=(
            "The names are `lt`, `le`, `gt`, `ge`; for any other the answer is None. `a.limits[dim]` is an "
            "offset with `a <= dim + offset`: with it `a < dim` may be certain although nobody knows how "
            "large the dim is. Decide only what holds for all pairs of values."
        ),
        example="""
        >>> decide("lt", Range(0, 7), Range(8, 9)), decide("lt", Range(8, 9), Range(0, 8))
        (True, False)
        >>> decide("lt", Range(0, 100), Range(0, 1 << 40), "N") is None
        True
        >>> decide("lt", Range(0, 100, {"N": -1}), Range(0, 1 << 40), "N")
        True
        """,
        hints=(
            "`a > b` is the opposite of `a <= b`: decide that, and turn it round if it is decided.",
            "`a < b` for all: `a.hi < b.lo`. `a <= b` for all: `a.hi <= b.lo`.",
            "For none: `a.lo >= b.hi`, or `a.lo > b.hi`.",
            "With a dim: `a <= N + offset` means `a < N` if the offset is at most -1, `a <= N` if it is at "
            "most 0.",
        ),
    ),
    Exercise(
        "tilelang.passes.licm:_hoist",
        "hard",
        task=(
            "Loop-invariant code motion on one loop (`for` or `while`, whose blocks are `loop.blocks`). An "
            "op may move if it is pure (`is_pure`), or a `load` from a tensor that nothing in the loop "
            "`clobbers`; and if none of its operands is made inside (`defined_in(block)`: all names that a "
            "block defines, arguments included). What moved is not inside any more. `written((loop,))` are "
            "the loop's writes."
        ),
        example="""
        >>> k, v, e = Value("k", TileType(I64)), Value("v", TileType(F32)), Value("e", TileType(F32))
        >>> loop = Op("for", (k, k, k), (), {}, (Block((k,), (Op("exp", (v,), (e,)), Op("yield"))),))
        >>> moved, rest = _hoist(loop)
        >>> [op.name for op in moved], [op.name for op in rest.blocks[0].ops]
        (['exp'], ['yield'])
        """,
        hints=(
            "Collect what is defined in all blocks first; then go through the ops once, in order.",
            "When an op moves, take its results out of the set: ops behind it that need only those may "
            "follow.",
            "Ops with blocks are never pure, and neither are `yield` and `condition`, so these stay by "
            "themselves.",
            "`replace(loop, blocks=...)` builds the loop anew.",
        ),
    ),
)

CHAPTER = Chapter(8, "optimizing", "Optimizing", "optimized", EXERCISES)
