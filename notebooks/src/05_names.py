# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 5: names
#
# Here is an old puzzle. What does it print?

# %%
def foo(foo):
    return foo + foo


print(foo(3))

# %% [markdown]
# Six, and not an error, although `foo` stands there four times and means two things. And why is the function not gone
# after the call?
#
# **The question: which `foo` is meant?**
#
# The tree of chapter 4 only says that there is a name. In this chapter each name gets a meaning: a function, a
# parameter, a variable, a dim. All mistakes that have to do with names are found on the way, and for most of them the
# compiler can say what was meant.

# %%
import numpy as np

from course.pictures import draw_names
from tilelang.diagnostics import Sink, Source
from tilelang.rendering import render_plain
from tilelang.semantics.names import resolve
from tilelang.syntax.parsing import parse

# %load_ext tilelang.notebook


def names_of(text):
    """(source, names) of a program; mistakes and warnings are printed."""
    source, sink = Source(text, "example"), Sink()
    names = resolve(parse(source, sink), sink)
    for diagnostic in sink.diagnostics:
        print(render_plain(diagnostic, source), end="\n\n")
    return source, names


program = """\
const LIMIT = 10.0;

kernel clip[BLOCK = 256](x: f32[N], out y: f32[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    var v = x[i];
    for round in range(0, 3) {
        let half = v * 0.5;
        v = minimum(half, LIMIT);
    }
    y[i] = v;
}
"""
draw_names(*names_of(program))

# %% [markdown]
# Each name has the colour of what it means. Where a name is **declared**, its box has a frame. `N` is declared where it
# first appears: it is the length of `x`, and the second `N` says that `y` has the same.
#
# ## Scopes
#
# Where may a name be used? From its declaration to the end of the block in which it stands. Blocks lie in one another, and
# so the compiler keeps a stack: a new **scope** is put on when a block begins, and taken off when it ends. A scope is a
# dictionary. To look a name up, start at the top of the stack, and go down until a scope knows it.
#
# Python's library has a class that looks a name up in several dictionaries, one after the other. It answers the puzzle:

# %%
from collections import ChainMap

file = {"foo": "the function"}
call = {"foo": "the parameter"}

print("outside,   foo is", ChainMap(file)["foo"])
print("inside,    foo is", ChainMap(call, file)["foo"])       # innermost first
print("afterward, foo is", ChainMap(file)["foo"])

# %% [markdown]
# The inner `foo` **hides** (or *shadows*) the outer one as long as its scope is open. The function was never gone.
#
# ## One name, one meaning
#
# Python allows hiding. This language does not, and says where the other one is. In a kernel of ten lines a name that
# changes its meaning half way is nearly always a slip. Whoever wants another value wants another name, or a `var`.

# %% active="ipynb"
# %%tile --wrong
# kernel k(x: f32[N], out y: f32[N]) grid (N) {
#     let i = program_id(0);
#     let v = x[i];
#     if v > 0.0 {
#         let v = 2.0 * v;
#         y[i] = v;
#     }
# }

# %% [markdown]
# Functions, values and element types are three **name spaces**: a name in one has nothing to do with the same name in
# another, because the grammar says which is meant. What stands before `(` is a function. So the puzzle is no puzzle here:

# %% active="ipynb"
# %%tile double(np.float32([1, 2, 3]))
# fn foo(foo) {
#     return foo + foo;
# }
# kernel double(x: f32[N], out y: f32[N]) grid (N) {
#     let i = program_id(0);
#     y[i] = foo(x[i]);
# }

# %% [markdown]
# ## Not there
#
# When no scope knows the name, the compiler looks for the nearest one that is known. What is near? People make few kinds
# of slips: another case, a forgotten underscore, two letters swapped, one letter too many. `nearest` tries these in turn.

# %%
from tilelang.near import nearest

known = ["program_id", "num_programs", "sum", "acc", "cumsum", "maximum"]
for name in ("programid", "Sum", "cac", "maximun", "prod", "x"):
    print(f"{name:<10} -> {nearest(name, known)}")

# %% [markdown]
# A name that is known, but in the wrong place, deserves better than "did you mean". Each of these messages comes from a
# question that the resolver asks when a look-up fails: is it declared later? Was it declared in a block that has ended? Is
# it a habit from Python?

# %%
cases = {
    "used before it is declared": "y[i] = b; let b = 1.0; y[i] = b;",
    "declared in a block that has ended": "if i > 2 { let a = 1.0; y[i] = a; }\n    y[i] = a;",
    "a loop variable after its loop": "for k in range(0, 3) { print(\"k\", k); }\n    y[i] = k;",
    "a function of Python": "y[i] = len(x);",
    "a function of NumPy": "y[i] = amax(x[0 +: 4]);",
}
for title, line in cases.items():
    print("---", title)
    names_of(f"kernel k(x: f32[N], out y: f32[N]) grid (N) {{\n    let i = program_id(0);\n    {line}\n}}\n")

# %% [markdown]
# ## Too many names
#
# What is declared and never read does no harm, but is often the trace of a slip: you meant to use it. That is a warning
# (`W`), and the program runs. A name that begins with `_` says that it is on purpose.

# %%
_ = names_of("""\
kernel k(x: f32[N], out y: f32[N]) grid (N) {
    let i = program_id(0);
    let old = x[i];
    y[i] = 1.0;
}
""")

# %% [markdown]
# ## Who calls whom
#
# A `fn` is not called when the kernel runs. Its body is put in the place of the call; that is called **inlining**. It
# would never end if a `fn` called itself, directly or through others. So the calls must not make a circle, and the
# compiler looks for one: it follows the calls, and marks what it has entered and not left yet.

# %%
calls = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": [], "e": ["f"], "f": ["e"]}


def visit(name, path, order):
    """Everything that `name` calls, then `name` itself, into `order`."""
    if name in path:
        print("a circle:", " > ".join([*path[path.index(name):], name]))
    elif name not in order:
        for called in calls[name]:
            visit(called, [*path, name], order)
        order.append(name)


order = []
for name in calls:
    visit(name, [], order)
print("callees before callers:", *order)

# %% active="ipynb"
# %%tile --wrong
# fn even(n) { return odd(n - 1); }
# fn odd(n) { return even(n - 1); }
# kernel k(out y: i32[N]) grid (N) {
#     let i = program_id(0);
#     y[i] = even(4);
# }

# %% [markdown]
# Your last exercise is this search without recursion: a chain of ten thousand functions must not end in Python's
# `RecursionError`.
#
# ## What comes out
#
# The result is a table from each name in the tree to its **definition**. The tree itself is not changed. Later stages ask
# the table.

# %%
from collections import Counter

source, names = names_of(program)
definitions = Counter(names.meanings.values())
for definition, times in sorted(definitions.items(), key=lambda entry: entry[0].span.start):
    line, column = source.position(definition.span.start)
    print(f"{definition.name:<8} {definition.role.value:<13} line {line:>2}, column {column:>2}; occurs {times} times")

# %% [markdown]
# ## Change it
#
# 1. Rename `half` to `v` in the first program. Then rename it to `i`. Which places does the message show?
# 2. Take `foo` out of `file`, so that it is declared only in the call. What does the last look-up say?
# 3. Write a kernel with a `let` called `sum`, and call `sum` in it. Is that an error? Why (not)?
# 4. `nearest("x", ...)` gives nothing. Why is that better than the nearest one-letter name?
#
# ## Exercises
#
# Write the functions in [`course/ch05_names/exercise.py`](../course/ch05_names/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch05")

# %%
import course
import tilelang

with course.installed("ch05") as mine:
    print(mine)
    tilelang.load("../course/kernels/softmax.tile")

# %% [markdown]
# ## In short
#
# - A **scope** is a dictionary from names to **definitions**; open scopes are a stack. The innermost one decides.
# - To **hide** a name is to declare it again further inside. Here that is an error.
# - **Name spaces** are kept apart by the grammar: functions, values, element types.
# - The result is a table beside the tree, not a changed tree.
# - A failed look-up is a question: later, elsewhere, misspelt, or a habit?
# - **Inlining** puts a body in the place of a call, so calls must not go in a circle.
#
# **Where this differs from the real thing.** In Python the scope of a name is the whole function, and is decided when the
# function is compiled, but the look-up happens when it runs. Triton's kernels are Python functions: a name that is no
# variable of the kernel is looked up among the globals of the module in which it was defined, which must be compile-time
# constants. Languages with modules, overloading or methods need types to find out what a name means, and so mix this
# chapter with the next.
#
# ## Further reading
#
# - R. Nystrom, [*Crafting Interpreters*](https://craftinginterpreters.com/resolving-and-binding.html), chapter 11.
# - A. Aho, M. Lam, R. Sethi, J. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition, 2006, sections 1.6
#   and 2.7.
# - [*Execution model*](https://docs.python.org/3/reference/executionmodel.html) in the Python language reference: how
#   Python answers the question.
# - R. Tarjan, *Depth-first search and linear graph algorithms*, SIAM Journal on Computing 1(2), 1972.
#
# Next: [chapter 6, types and shapes](06_types_and_shapes.ipynb). What can be added to what?
