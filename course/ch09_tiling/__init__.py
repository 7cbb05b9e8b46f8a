"""Chapter 9: which thread holds which element."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.tiling.layout:linearize",
        "warm-up",
        example="""
        >>> linearize((1, 2), (3, 4))
        6
        """,
        hints=(
            "In row-major order the last coordinate counts single elements.",
            "From the left: multiply what you have by the axis's extent, and add the coordinate.",
        ),
    ),
    Exercise(
        "tilelang.tiling.layout:delinearize",
        "warm-up",
        example="""
        >>> delinearize(6, (3, 4))
        (1, 2)
        """,
        hints=(
            "From the right: `divmod(number, extent)` gives what is left for the axes in front, and the "
            "coordinate.",
        ),
    ),
    Exercise(
        "tilelang.tiling.layout:LinearLayout.place",
        "core",
        task=(
            "The class says which thread and which register that is. `self.vector` is 1 unless runs of "
            "that many neighbours stay together."
        ),
        example="""
        >>> place(LinearLayout((3, 4), 4), (1, 2))
        (2, 1)
        """,
        hints=(
            "First the element's number in row-major order.",
            "Neighbouring elements belong to neighbouring threads.",
            "With runs: `divmod(number, self.vector)` is the run, which takes the element's part, and the "
            "place within.",
        ),
    ),
    Exercise(
        "tilelang.tiling.layout:LinearLayout.coordinates",
        "core",
        task=(
            "The inverse of `place`. With 10 elements on 4 threads, the third register of the threads 2 "
            "and 3 holds nothing."
        ),
        example="""
        >>> coordinates(LinearLayout((10,), 4), 1, 2), coordinates(LinearLayout((10,), 4), 2, 2)
        ((9,), None)
        """,
        hints=(
            "From thread and register to the element's number; take a `vector` of 1 first: every register "
            "holds one element of each thread.",
            "With runs: which run of the thread, and which element within it? `divmod(register, "
            "self.vector)`.",
            "A number of at least `self.size` is padding.",
        ),
    ),
    Exercise(
        "tilelang.tiling.splits:split",
        "core",
        task=(
            "A reduction along neighbouring axes sees a tile of any rank as one of rank 3: the axes in "
            "front of the reduced ones, those themselves, and those behind. The three numbers of a `Split` "
            "are how many elements these have. `axes` is sorted and not empty. With a `vector` above 1 the "
            "length counts runs of that many."
        ),
        example="""
        >>> split((2, 3, 4, 5), (1, 2), 32)
        Split(outer=2, length=12, inner=5, threads=32, vector=1)
        >>> split((2, 3, 4), (0, 2), 32) is None
        True
        """,
        hints=(
            "Axes are neighbours if they are a whole `range` from the first to the last.",
            "`math.prod` of a slice of the shape; of an empty slice it is 1.",
        ),
    ),
    Exercise(
        "course.extra:blocked_place",
        "hard",
        task=(
            "The layout of Triton, and of most compilers for GPUs, in its simplest form. Along one axis "
            "with `per_thread` 2, `lanes` 4 and `warps` 2 the elements 0 to 15 are in the threads 0 0 1 1 "
            "2 2 3 3 of warp 0, and then in those of warp 1. `coordinates` lie inside of the tile, whose "
            "extent along each axis is the product of the three."
        ),
        example="""
        >>> blocked_place((5,), (2,), (4,), (2,))
        (0, 2, 1)
        >>> blocked_place((3, 5), (1, 2), (2, 2), (2, 2))
        (3, 2, 1)
        """,
        hints=(
            "Along each axis a coordinate has three digits: which register, which lane, which warp. "
            "`divmod` twice.",
            "The last axis counts fastest for all three: `lane = lane * lanes[axis] + digit`, and so on, "
            "from the left.",
        ),
    ),
)

CHAPTER = Chapter(9, "tiling", "Tiling", "tiling", EXERCISES)
