"""Chapter 11: from IR to source text that a compiler of another language reads."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.codegen.names:printable",
        "warm-up",
        task=(
            "The text goes into a comment of the generated code. One character that ends the line, and the "
            "rest of it would be code. Escapes are Python's: `\\n`, `\\x1b`, `\\u2028`; half a surrogate "
            "pair must not be a crash."
        ),
        example=r"""
        >>> printable("a\nimport os")
        'a\\nimport os'
        """,
        hints=(
            "`char.isprintable()` tells which characters may stay.",
            "`char.encode(\"unicode_escape\")` is the escape, as bytes.",
        ),
    ),
    Exercise(
        "tilelang.codegen.cpu_words:identity",
        "warm-up",
        task=(
            "`kind` is `sum`, `prod`, `max`, `min`, `any`, `all`, `argmax` or `argmin`. Combined with the "
            "identity every value stays what it is: that is what a loop may start from. Of floats it is a "
            "float, of integers an int, of bool (`any`, `all`, `max`, `min`) a bool. `_lowest(dtype)` is "
            "the smallest value of a type."
        ),
        example="""
        >>> identity("sum", F32), identity("min", I8), identity("all", BOOL), identity("max", F16)
        (0.0, 127, True, -inf)
        """,
        hints=(
            "0 for sums, 1 for products.",
            "For `max` and `argmax` it is the smallest value, which anything beats; for `min` and `argmin` "
            "the largest.",
        ),
    ),
    Exercise(
        "tilelang.codegen.cpu_text:literal",
        "core",
        task=(
            "How a constant is written in generated CPU code. Bools are `True` and `False`. An i64 is "
            "Python's own integer, in brackets if it is negative; other integers are calls such as "
            "`u8(255)`. An f64 is `f64(...)`; f32 and the half floats are `f32(...)`, where a half float "
            "is rounded to its own type first: `python_number(scalar(value, dtype).astype(\"float64\"))`. "
            "Floats are written with `repr`, which reads back exactly."
        ),
        example="""
        >>> literal(-3, I64), literal(200, U8), literal(0.1, F16), literal(True, BOOL)
        ('(-3)', 'u8(200)', 'f32(0.0999755859375)', 'True')
        """,
        hints=(
            "Four kinds: bool, integer, half float, float. Ask in this order.",
            "The brackets keep `2 - -3` and `x.real` from being read as something else.",
            "`float(value)!r` in an f-string gives `inf` and `nan` too, which the generated code knows as "
            "names.",
        ),
    ),
    Exercise(
        "tilelang.codegen.cpu_words:_call",
        "core",
        task=(
            "The expression of one elementwise op. `dtype` is the type of its last operand. A cast is a "
            "call of `to_` and the result's type. `pow` is `power` on floats and `int_power` on integers. "
            "Where numba's operator means just what the op does (op in `OPERATORS`, type in "
            "`WITH_OPERATORS`) the operator is written; anything else is a call of the word in `WORDS`."
        ),
        example="""
        >>> a = Value("a", TileType(F32))
        >>> _call(Op("add", (a, a)), F32, ["x", "y"]), _call(Op("exp", (a,)), F32, ["x"])
        ('x + y', 'exp(x)')
        """,
        hints=(
            "Take the special cases first.",
            "`dtype.name in WITH_OPERATORS` decides between operator and word.",
        ),
    ),
    Exercise(
        "tilelang.codegen.cpu_coords:offset_text",
        "core",
        task=(
            "A term for each axis: coordinate times stride. Leave out terms that are 0 (coordinate text "
            "`0`, or stride 0), a factor of 1, and a base that is `\"0\"` or empty. A coordinate that is "
            "no plain name stands in brackets where it is multiplied. Nothing left: `\"0\"`."
        ),
        example="""
        >>> offset_text([Coord("i", 1), Coord("j + 1", 2)], [64, 1], "first")
        'first + i * 64 + j + 1'
        """,
        hints=(
            "Collect the terms in a list, and join them with ` + `.",
            "`text.isidentifier()` tells a plain name.",
            "A stride may be a name, such as `x_stride0`: compare with `== 1` and `== 0`, which is false "
            "for a text.",
        ),
    ),
    Exercise(
        "tilelang.codegen.names:Names._fresh",
        "core",
        task=(
            "A kernel's author may call a variable `lambda`, `max` or `größe`; generated Python needs a "
            "name that is none of those in `self._taken`, and different from all given before. Every "
            "character but ASCII letters, digits and `_` becomes `_`. A name that is empty, begins with a "
            "digit or with two underscores gets a `v` in front. If the name is taken try it with `_` "
            "behind, then with `_2`, `_3`, ... Note what you give."
        ),
        example="""
        >>> names = Names()
        >>> _fresh(names, "row"), _fresh(names, "row"), _fresh(names, "row"), _fresh(names, "max")
        ('row', 'row_', 'row_2', 'max_')
        """,
        hints=(
            "`re.sub(r\"[^A-Za-z0-9_]\", \"_\", wished)` makes the base.",
            "`self._taken` holds keywords and builtins from the start.",
            "A loop with a number: 0 for the base itself, 1 for `_`, n for `_n`.",
        ),
    ),
    Exercise(
        "tilelang.codegen.cpu_coords:operand_coords",
        "hard",
        task=(
            "None of these ops moves data: whoever wants an element of the result takes one of the "
            "operand. `coords` are the coordinates of an element of the result, one for each axis, of any "
            "type; give back those of the operand's element. `permute`: result axis i is operand axis "
            "`axes[i]`. `broadcast`: aligned on the right; a stretched extent of 1 is read at `zero`. "
            "`reshape` here only adds or removes extents of 1, which are read at `zero` too."
        ),
        example="""
        >>> v, w = Value("v", TileType(F32, (4, 1))), Value("w", TileType(F32, (4, 8)))
        >>> operand_coords(Op("broadcast", (v,), (w,)), ("i", "j"), "0")
        ('i', '0')
        """,
        hints=(
            "`permute`: operand axis a is result axis `axes.index(a)`.",
            "`broadcast`: the operand has as many axes as there are last coordinates; where its extent is "
            "1, `zero`.",
            "`reshape`: the coordinates of the extents above 1 keep their order; hand them out one after "
            "another.",
            "`ints_attr(op, \"axes\")` are the axes of a permutation.",
        ),
    ),
)

CHAPTER = Chapter(11, "codegen", "Code generation", "cpu", EXERCISES)
