"""Chapter 12: what happens when a kernel is launched."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.semantics.constants:next_pow2",
        "warm-up",
        task="`BLOCK = next_pow2(N)` is how a kernel asks for a tile that holds a whole row.",
        example="""
        >>> next_pow2(1000), next_pow2(1024), next_pow2(0)
        (1024, 1024, 1)
        """,
        hints=(
            "`(n - 1).bit_length()` tells how many doublings it takes.",
            "Numbers of 1 and below give 1.",
        ),
    ),
    Exercise(
        "tilelang.runtime.dlpack:row_major",
        "warm-up",
        task=(
            "The strides, in elements, of an array of this shape whose rows lie one after another: how far "
            "it is from one element to the next along each axis."
        ),
        example="""
        >>> row_major((2, 3, 4))
        (12, 4, 1)
        """,
        hints=(
            "The last axis has stride 1.",
            "From the right, each stride is the one before times that axis's extent.",
        ),
    ),
    Exercise(
        "tilelang.runtime.log:_ids",
        "warm-up",
        task=(
            "Programs of a grid are numbered with its first axis counting fastest. Give the coordinates of "
            "one."
        ),
        example="""
        >>> _ids(7, (4, 3))
        (3, 1)
        """,
        hints=(
            "The remainder by the first extent is the first coordinate; go on with the quotient.",
        ),
    ),
    Exercise(
        "tilelang.runtime.tuning.race:winner",
        "warm-up",
        task=(
            "Tuning has measured the configurations of a kernel: seconds by number, 0 being the default. "
            "Times within a factor of `CLOSE` of the fastest cannot be told from it; of these take the "
            "lowest number, so that the default stays unless another is really faster."
        ),
        example="""
        >>> winner({0: 1.5, 1: 1.01, 2: 1.0})
        1
        """,
        hints=(
            "First find the fastest time, then look for all that are close to it.",
            "Close means `time <= CLOSE * fastest`.",
        ),
    ),
    Exercise(
        "tilelang.runtime.cache:key_of",
        "core",
        task=(
            "A compiled kernel is kept under a key made of all that decides it. Two lists of parts must "
            "not get one key because their texts happen to join to the same: `(\"ab\", \"c\")` is not "
            "`(\"a\", \"bc\")`. Feed SHA-256, for each part, with its length, a colon, the part and a "
            "semicolon, in UTF-8; the key is the first 40 hexadecimal digits."
        ),
        example="""
        >>> len(key_of("source", "f32"))
        40
        >>> key_of("ab", "c") == key_of("a", "bc")
        False
        """,
        hints=(
            "`hashlib.sha256()` has `update(bytes)` and `hexdigest()`.",
            "`f\"{len(part)}:{part};\".encode()` for each part.",
        ),
    ),
    Exercise(
        "tilelang.runtime.cuda_arguments:reach",
        "core",
        task=(
            "A view may run backwards or skip: from its first element to the lowest and to the highest "
            "that it touches, in elements. `strides` may be negative or 0."
        ),
        example="""
        >>> reach((3, 4), (4, 1)), reach((5,), (-1,)), reach((0, 4), (4, 1))
        ((0, 11), (-4, 0), (0, 0))
        """,
        hints=(
            "Along one axis the last element is `(extent - 1) * stride` away.",
            "The negative ones add up to the lowest, the positive ones to the highest.",
            "An array without elements reaches nowhere.",
        ),
    ),
    Exercise(
        "tilelang.runtime.calls:given_names",
        "core",
        task=(
            "`kernel(x, y)` may leave out outputs: if there are no more positional arguments than "
            "parameters that are not `out`, these are meant; else all parameters in order. "
            "`_inputs(signature)` are the parameters that are not `out`; `signature.params` are all of "
            "them. Give the names of the first `count`."
        ),
        example="""
        >>> from tilelang.semantics.names import resolve
        >>> from tilelang.semantics.signature import signature
        >>> from tilelang.syntax.parsing import parse
        >>> module = parse(Source("kernel k(x: f32[N], out y: f32[N]) grid (1) { }"), Sink())
        >>> found = signature(resolve(module, Sink()), module.kernels[0])
        >>> given_names(found, 1), given_names(found, 2)
        (('x',), ('x', 'y'))
        """,
        hints=(
            "First decide between the two lists, then cut it off at `count`.",
            "`p.name` is a parameter's name.",
        ),
    ),
    Exercise(
        "tilelang.runtime.arguments:_converted",
        "core",
        task=(
            "A scalar parameter takes a Python number, a NumPy scalar, or an array of rank 0; give back a "
            "Python `bool`, `int` or `float`. Everything else raises `Refused(code, what, why, help)` with "
            "code E0517: complex numbers, arrays, texts. The help says what to write, `{x}` being the "
            "parameter: `{x}.real` for a complex number, `{x}.item()` for what `offers(value, \"item\")` and "
            "has the shape `()` or `(1,)`, `{x}: f32[N]` for another array, `{x}=1` for all else. "
            "`type(value).__name__` of ml_dtypes' half float is `bfloat16`, and it is no `np.floating`."
        ),
        example="""
        >>> _converted(np.float32(1.5)), _converted(np.array(3)), _converted(True)
        (1.5, 3, True)
        """,
        hints=(
            "An array of rank 0 becomes a NumPy scalar with `value[()]`.",
            "Ask for bool before int: `True` is an int in Python.",
            "`np.bool_`, `np.integer` and `np.floating` are NumPy's kinds; `int(value)` and `float(value)` "
            "convert.",
        ),
    ),
    Exercise(
        "tilelang.runtime.tuning.space:configurations",
        "core",
        task=(
            "`choices` has the values of each meta, in the order of the kernel's header: "
            "`BM: {64, 128}, warps: {4, 8}`. Give every combination as a dict, `first` (the default) before "
            "all others if it is one of them; apart from that the last meta changes fastest."
        ),
        example="""
        >>> configurations({"BM": (64, 128), "warps": (4, 8)}, {"BM": 128, "warps": 4})[:3]
        [{'BM': 128, 'warps': 4}, {'BM': 64, 'warps': 4}, {'BM': 64, 'warps': 8}]
        """,
        hints=(
            "`itertools.product(*choices.values())` gives the values of all combinations in the right order.",
            "`dict(zip(choices, values))` puts the names to them.",
            "Then move `first` to the front: those equal to it, and then those that are not.",
        ),
    ),
    Exercise(
        "tilelang.runtime.tuning.race:still_in",
        "core",
        task=(
            "Configurations run in turns, and after each round the clearly slow ones leave. The machine may "
            "be busy at any moment, which makes runs longer and never shorter. So compare a configuration's "
            "fastest run with `slack` times the leader's median; the leader is the one whose median is "
            "lowest. Give the numbers of those that stay, in the order of `samples`."
        ),
        example="""
        >>> still_in({0: [2.0, 2.1, 9.9], 1: [2.3, 5.0, 5.1], 2: [4.0, 4.1, 4.2]}, 1.2)
        [0, 1]
        """,
        hints=(
            "`statistics.median(times)` for each; the smallest of them is what all are held against.",
            "`min(times) <= slack * lead` stays.",
        ),
    ),
    Exercise(
        "tilelang.runtime.overlap:meets_itself",
        "hard",
        task=(
            "An output whose elements share memory would depend on who writes last, so it is refused. "
            "`array.shape` and `array.strides` (in bytes) decide. Axes of extent 1 never move; an array "
            "without elements meets nobody. Sort the axes by the size of their strides: as long as each "
            "steps over everything that the smaller ones span, no two elements meet. If one does not: a "
            "stride of 0 is certain, and otherwise `_some_offsets_are_near(axes, itemsize)` looks at all "
            "elements. The size of an element is `array.dtype.itemsize`, or `array.dtype.bytes` of a "
            "`DeviceArray`."
        ),
        example="""
        >>> row = np.zeros((1, 3))
        >>> meets_itself(row), meets_itself(np.broadcast_to(row, (4, 3)))
        (False, True)
        """,
        hints=(
            "`abs(stride)` with its extent, for each axis whose extent is not 1, sorted.",
            "`reach` begins at the size of one element: the next stride must be at least that.",
            "After an axis it spans `stride * (extent - 1)` bytes more.",
        ),
    ),
)

CHAPTER = Chapter(12, "launch_and_tune", "Launching and tuning", "launch", EXERCISES)
