"""Chapter 7: tile IR, its verifier and its interpreter."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.ir.flow:reachable",
        "warm-up",
        example="""
        >>> stop = typed.Return()
        >>> show = typed.Print("hello")
        >>> reachable((show, stop, show)) == (show, stop)
        True
        """,
        hints=(
            "Look for the first statement that is a `typed.Return`.",
            "A slice up to and including its position is the answer; a `return` inside an `if` is not one "
            "of this block.",
        ),
    ),
    Exercise(
        "tilelang.ir.numerics:floor_divide",
        "core",
        task=(
            "The arrays are of one integer type and have one shape, or broadcast. Division must not happen "
            "where it is undefined: put a harmless divisor there first, and choose the right result with "
            "`np.where` afterwards. `_like(value, array)` is a value in an array's type; "
            "`_is_minus_one(b)` is true where a signed divisor is -1."
        ),
        example="""
        >>> floor_divide(np.array([7, -7, 7], np.int32), np.array([2, 2, 0], np.int32)).tolist()
        [3, -4, 0]
        """,
        hints=(
            "`np.floor_divide` rounds down by itself.",
            "Two divisors are trouble: 0, and -1, by which the smallest integer has no quotient.",
            "Dividing by -1 is `np.negative`, which wraps.",
        ),
    ),
    Exercise(
        "tilelang.ir.rounding:_float_to_integer",
        "core",
        task=(
            "Truncate towards zero; what is above the type's largest integer becomes the largest, what is "
            "below the smallest becomes the smallest, and NaN becomes 0. `float(dtype.max_int)` rounds up "
            "for 64 bits, so compare with `float(dtype.max_int + 1)`, which is exact. NumPy's conversion of "
            "what is outside is undefined, and warns: it must not happen. `numpy_dtype(dtype)` is NumPy's "
            "type."
        ),
        example="""
        >>> _float_to_integer(np.array([1.9, -1.9, 300.0, float("nan")]), I8).tolist()
        [1, -1, 127, 0]
        """,
        hints=(
            "`np.trunc` cuts the fraction off and stays a float.",
            "Convert only what is inside the range; put 0.0 in place of the rest before you do.",
            "NaN is neither above nor below: what is not inside and not outside on either side is 0.",
        ),
    ),
    Exercise(
        "tilelang.ir.rules:broadcast",
        "core",
        task=(
            "The typing rule of the op `broadcast`, as the verifier asks for it. `tile(value)` is an "
            "operand's `TileType`, `own_result(op)` that of the one result. `require(holds, sentence)` "
            "raises if something does not hold. Give back the result types, a tuple of one: the element "
            "type stays, and the shape stretches by NumPy's rule, but only from operand to result."
        ),
        example="""
        >>> v, w = Value("v", TileType(F32, (8,))), Value("w", TileType(F32, (4, 8)))
        >>> str(broadcast(Op("broadcast", (v,), (w,)))[0])
        'f32[4, 8]'
        """,
        hints=(
            "Align on the right: put 1s in front of the operand's shape.",
            "Each extent must be 1 or equal to the result's; the result may not have fewer axes.",
            "Check that before `zip(..., strict=True)`, or put it into one condition with `and`.",
        ),
    ),
    Exercise(
        "tilelang.ir.rules:dot",
        "core",
        task=(
            "The operands are `a`, `b`, `acc`. Both of one number type (not bool); both of rank 2, or of "
            "rank 3 with the same batch; the last extent of `a` is the one before the last of `b`. `acc` "
            "is exactly the product's type: its element type is `dot_accumulator(a.dtype)`. The attribute "
            "`tf32` is a bool, and true for f32 only. Give back the type of the product, in a tuple."
        ),
        example="""
        >>> a, b = Value("a", TileType(F16, (4, 8))), Value("b", TileType(F16, (8, 2)))
        >>> acc = Value("acc", TileType(F32, (4, 2)))
        >>> str(dot(Op("dot", (a, b, acc), attrs={"tf32": False}))[0])
        'f32[4, 2]'
        """,
        hints=(
            "`a, b, acc = map(tile, op.operands)` takes the operands apart.",
            "`(*a.shape[:-1], b.shape[-1])` is the product's shape, with and without a batch.",
            "`op.attrs.get(\"tf32\")` is None where it is missing; `isinstance(..., bool)` asks for the "
            "type.",
        ),
    ),
    Exercise(
        "tilelang.ir.memory_access:locate",
        "core",
        task=(
            "`tensor[indexes]` must never be read outside. For each axis give an index array that is safe "
            "to use (0 where the index is outside), and put into `valid` where the access touches memory: "
            "where the mask holds and every checked axis is inside. An axis whose check was dropped must "
            "be inside wherever the others are valid: if it is not, that is a bug of the compiler, an "
            "`InternalError(\"interpreter\", ...)`; with `trusting`, the element is merely not touched. "
            "Negative indexes are outside. Compare as i64."
        ),
        example="""
        >>> place = locate(np.zeros(4), (np.array([-1, 3, 4]),), None, (True,))
        >>> place.indexes[0].tolist(), place.valid.tolist()
        ([0, 3, 0], [False, True, False])
        """,
        hints=(
            "`(signed >= 0) & (signed < extent)` is inside, with `signed = index.astype(np.int64)`.",
            "Begin with `valid` as the mask, or true; each checked axis narrows it.",
            "Look at the unchecked axes last, when `valid` is final.",
        ),
    ),
    Exercise(
        "tilelang.ir.verifier:_Verifier.block",
        "hard",
        task=(
            "`self.visible` maps names to the values that may be used at this point, in the order in which "
            "they came. `self.define(value)` adds one and refuses a name that was ever used; `self.op(op, "
            "last)` checks an op, where `last` says whether it is the last of its block. After the block "
            "nothing that it defined may be visible."
        ),
        example="""
        >>> from tilelang.ir.verifier import vocabulary
        >>> verifier = _Verifier(*vocabulary("tile"))
        >>> one = Op("const", (), (Value("one", TileType(F32)),), {"value": 1.0})
        >>> block(verifier, Block((), (one, Op("yield"))))
        >>> list(verifier.visible), "one" in verifier.defined
        ([], True)
        """,
        hints=(
            "First the block's arguments, then its ops in order, then forget.",
            "Note how many values are visible before; `dict.popitem()` removes the newest one.",
            "Do not copy the dict: a deep program would make that quadratic. It works, though.",
        ),
    ),
    Exercise(
        "tilelang.ir.liveness:_scan",
        "hard",
        task=(
            "For each op of the block, `deaths[id(block)][number]` are the names, as a tuple, of the "
            "block's own values (its arguments and its ops' results) that are used by op `number`, or made "
            "by it, and by no later op of the block. What the blocks inside an op use counts as used by "
            "that op. Leave out ops after which nothing dies. Give back the names that the block uses and "
            "does not define. Do the blocks inside as well."
        ),
        example="""
        >>> a, b = Value("a", TileType(F32)), Value("b", TileType(F32))
        >>> body = Block((), (Op("const", (), (a,), {"value": 1.0}), Op("neg", (a,), (b,))))
        >>> found = {}
        >>> _scan(body, found)
        set()
        >>> {number: sorted(names) for number, names in found[id(body)].items()}
        {1: ['a', 'b']}
        """,
        hints=(
            "For each op make the set of names that it uses: its operands, and what `_scan` gives for its "
            "blocks.",
            "Go through the ops backwards, with the set of names used so far: what an op uses and is not "
            "in it dies here.",
            "A result that nothing uses dies where it is made, so an op's own results count as used by it.",
            "Only the block's own values die in it; the others are used from outside, and that is what you "
            "give back.",
        ),
    ),
)

CHAPTER = Chapter(7, "tile_ir", "Tile IR", "tile_ir", EXERCISES)
