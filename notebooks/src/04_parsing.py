# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 4: parsing
#
# Tokens stand in a row. A program is not a row: in `a - b - c * d` the multiplication comes first, although it stands
# last, and of the two subtractions the left one.
#
# **The question: how does a parser know what belongs to what, and how does it go on when nothing fits?**

# %%
from course.pictures import Tree, draw_tree, syntax_tree
from tilelang.diagnostics import Sink, Source
from tilelang.rendering import render_plain
from tilelang.syntax import ast
from tilelang.syntax.lexing import lex
from tilelang.syntax.parsing import parse, parse_tree

# %load_ext tilelang.notebook


def parsed(text):
    """The syntax tree of a file; mistakes are printed."""
    source, sink = Source(text, "example"), Sink()
    module = parse(source, sink)
    for diagnostic in sink.diagnostics:
        print(render_plain(diagnostic, source), end="\n\n")
    return module


def expression(text):
    """The syntax tree of an expression."""
    items = parsed(f"const EXAMPLE = {text};").items
    return items[0].value if items else None


draw_tree(syntax_tree(expression("a - b - c * d")), "a - b - c * d")

# %% [markdown]
# The tree says it all: what is deeper is computed first. Brackets are needed in the text only where the tree should be
# another one, and the tree itself has none.

# %%
draw_tree(syntax_tree(expression("a - (b - c) * d")), "a - (b - c) * d")

# %% [markdown]
# ## A ladder of rules
#
# Where do the levels come from? From the grammar. It has a rule for each level of operators, and each rule is made of the
# next tighter one:

# %%
from tilelang.syntax.grammar import grammar_path

grammar = grammar_path().read_text().split("\n")
start = next(n for n, line in enumerate(grammar) if line.startswith("?shift:"))
print("\n".join(grammar[start:start + 10]))

# %% [markdown]
# Read `?sum: product | sum sum_op product` like this: a sum is a product, or a sum, then `+` or `-`, then a product.
#
# - A `product` can stand in a sum, but a sum cannot stand in a product, unless in brackets. So `*` binds tighter than
#   `+`. This is **precedence**.
# - The longer form has the `sum` on the left. So `a - b - c` can only be `(a - b) - c`: on the right there is no room for
#   a sum. This is **associativity**, and such a rule is called **left recursive**.
#
# All levels at once, from `or` to `[...]`: an operand that binds tightly has climbed the whole ladder.

# %%
def shape(node):
    """An expression with a bracket around every operation."""
    if isinstance(node, ast.Binary):
        return f"({shape(node.left)} {node.op} {shape(node.right)})"
    if isinstance(node, ast.Unary):
        return f"({node.op} {shape(node.operand)})"
    if isinstance(node, ast.Cast):
        return f"({shape(node.value)} as {node.dtype.text})"
    return node.text if isinstance(node, ast.Name) else str(node.value)


for text in ("a - b - c", "a + b * c", "-a * b", "-a as f32", "not a < b and c", "i * 4 + 1 +: n", "a | b ^ c & d << 1 + e"):
    print(f"{text:<26} {shape(expression(text))}")

# %% [markdown]
# One more thing follows from the grammar: `a < b < c` has a rule of its own, only to be refused with a good message. In
# Python it means "b lies between"; in C it compares a bool with c. Here it would be one or the other for half of the
# readers, so it is neither.

# %%
_ = expression("a < b < c")

# %% [markdown]
# ## Shift and reduce
#
# Chapter 2 parsed with a function for each rule. That way is called *top down*, and left recursion is its enemy: a
# function `sum` that begins by calling `sum` never ends. Our parser, made by Lark, works *bottom up*. It has a stack, and
# does one of two things at each step:
#
# - **shift**: put the next token on the stack;
# - **reduce**: the top of the stack is the right side of a rule; replace it by the rule's name.
#
# It may look at one token ahead to decide. What to do is in a table that Lark computes from the grammar, once. This
# method is called **LALR(1)**. We watch it read a sum.

# %%
from tilelang.syntax.machine import Machine

def stack_of(machine):
    """What is on the stack: tokens as they are, finished trees by the name of their rule."""
    values = machine._state.value_stack
    return " ".join(f"<{value.data}>" if hasattr(value, "data") else str(value) for value in values)


def watch(text):
    """The stack after each token."""
    machine = Machine()
    print(f"{'next token':<12} the stack after it")
    for token in lex(Source(text), Sink()):
        machine.feed(token)
        print(f"{token.text:<12} {stack_of(machine)}")


watch("const E = a + b * c;")

# %% [markdown]
# Follow it line by line. `<name>` is a tree that is finished, a name and nothing more. When `*` arrives, the stack holds
# a name, a `+` and a name. That could be reduced to a sum, but must not be: the `*` belongs to the second name. So the
# machine shifts. Only at `;` the product is reduced, then the sum, and the whole right side is one tree, `<binary>`.
#
# With the operators the other way round, the first pair is reduced as soon as `+` arrives:

# %%
watch("const E = a * b + c;")

# %% [markdown]
# The table knows more than the next step. It knows **every token that could come next**, and that is what a good message
# is made of.

# %%
from tilelang.syntax.grammar import terminal_texts


def next_after(text):
    """All tokens with which the text could go on."""
    machine = Machine()
    for token in lex(Source(text), Sink()):
        machine.feed(token)
    return sorted(terminal_texts().get(name, name) for name in machine.expected())


print("after `const E = a` there may come:", *next_after("const E = a"))
print("after `const E` there may come:", *next_after("const E"))

# %% [markdown]
# `accepts` answers the question for one token: would the machine, after all reductions that it calls for, shift it?
# Nothing is changed by asking. It is your last exercise, and with it you have understood LALR parsing.
#
# ## Two trees
#
# What the machine builds is the **parse tree**, a node for each rule. Lark leaves out nodes with one child where the rule
# begins with `?`, or else each name would have a whole ladder of nodes above it.

# %%
def as_tree(node):
    """A tree of Lark's as one to draw."""
    if hasattr(node, "children"):
        return Tree(str(node.data), tuple(as_tree(child) for child in node.children if child is not None))
    return Tree(str(node), leaf=True)


draw_tree(as_tree(parse_tree(Source("const E = x[i] where m else 0;"), Sink())), "parse tree")

# %%
draw_tree(syntax_tree(expression("x[i] where m else 0")), "syntax tree")

# %% [markdown]
# The grammar is wider than the language. It would take `x[i] else 0 where m where n`, any clauses in any order. It is
# simpler that way, and the mistake can be named while the **syntax tree** is built, with the whole construct at hand.

# %%
_ = expression("x[i] else 0 where m")

# %% [markdown]
# ## Going on after a mistake
#
# Nobody likes to hear of one mistake at a time. So the parser must go on after a token that does not fit, and it must not
# complain about things that are right. It tries three ways, in this order:
#
# 1. **Insert.** Would everything fit if a `;`, a bracket or a comma stood here? Then say that it is missing, and go on as
#    if it were there.
# 2. **Skip.** Drop a token that can belong nowhere, such as a bracket that nothing opened.
# 3. **Panic.** Give the statement up: take states off the stack until a statement may begin, and skip to the next `;` or
#    `}`.
#
# In this kernel there are three mistakes, one for each way. All are found, and nothing else is said.

# %% active="ipynb"
# %%tile --wrong
# kernel k(x: f32[N], out y: f32[N]) grid (N) {
#     let i = program_id(0)
#     let a = x[i] + 1.0);
#     let = 3;
#     y[i] = a;
# }

# %% [markdown]
# People bring habits from other languages. For many the parser has a message of its own:

# %%
for text in ("kernel k(out y: f32[N]) grid (N) {\n    for i in 0..N {\n        y[i] = 1.0;\n    }\n}",
             "kernel k(out y: f32[N]) grid (N) {\n    int i = program_id(0);\n    y[i] = 1.0;\n}",
             "def k(x):\n    return x"):
    parsed(text)

# %% [markdown]
# ## No text is too deep
#
# A tree that is very deep is a danger: a function that walks it by calling itself ends in Python's `RecursionError`, and
# the reader of that message has done nothing wrong. Brackets and blocks may be nested up to a limit, with a message
# beyond it. Long sums are deep trees too, and they must work, so everything that walks down the left side does it with a
# loop.

# %%
long = expression(" + ".join(["a"] * 3000))
depth = 0
while isinstance(long, ast.Binary):
    long, depth = long.left, depth + 1
print("a sum of 3000 names is a tree that is", depth, "deep\n")
_ = expression("(" * 10_000 + "1" + ")" * 10_000)

# %% [markdown]
# ## The way back
#
# From tokens one can also go back to text. `tilec fmt` writes every program in the standard layout. It does not change
# what the program is: the tokens stay the same.

# %%
from tilelang.syntax.format import format_source

untidy = Source("kernel k(x:f32[N],out y:f32[N]) grid(N){let i=program_id( 0 );y[ i ]=x[i]*2.0+1.0 ; }")
print(format_source(untidy, Sink()))

# %% [markdown]
# ## Change it
#
# 1. Where would `**` (power) stand on the ladder? It associates to the right: how does its rule look?
# 2. In the mistakes above, remove the `;` after `1.0)` as well. What is said now?
# 3. `watch` a comparison with `and`, or a call. When is the call one tree?
# 4. What may come after `kernel k(`? Ask `next_after`.

# %% [markdown]
# ## Exercises
#
# Write the functions in [`course/ch04_parsing/exercise.py`](../course/ch04_parsing/exercise.py), then run this cell.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch04")

# %%
import course
import tilelang

with course.installed("ch04") as mine:
    print(mine)
    tilelang.load("../course/kernels/softmax.tile")

# %% [markdown]
# ## In short
#
# - **Precedence** is a ladder of rules. **Associativity** is on which side a rule contains itself.
# - A bottom-up parser **shifts** tokens onto a stack and **reduces** what makes a rule. **LALR(1)** is a way to compute its
#   table, with one token to look ahead.
# - The **parse tree** shows the rules, the **syntax tree** the meaning.
# - After a mistake the parser **inserts**, **skips** or **panics**, so that one mistake gives one message.
# - Nothing that walks a tree may depend on its depth.
#
# **Where this differs from the real thing.** Most large compilers (GCC, Clang, rustc, Go) parse by hand-written recursive
# descent, with precedence climbing for expressions, which is your exercise `climb`: it is fast, and messages can be put
# anywhere. A table has another advantage: the grammar is proved free of ambiguity when the table is made, and the same
# file is the documentation. Triton leaves parsing to Python and walks Python's own syntax tree.
#
# ## Further reading
#
# - A. Aho, M. Lam, R. Sethi, J. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition, 2006, chapter 4.
# - F. DeRemer, *Practical translators for LR(k) languages*, PhD thesis, MIT, 1969: where LALR comes from.
# - M. Richards, C. Whitby-Strevens, *BCPL: the language and its compiler*, 1979: precedence climbing.
# - [Lark's documentation](https://lark-parser.readthedocs.io/en/stable/grammar.html): how to read the grammar.
# - L. Diekmann, L. Tratt, [*Don't panic! Better, fewer, syntax errors for LR parsers*](https://arxiv.org/abs/1804.07133),
#   ECOOP 2020.
#
# Next: [chapter 5, names](05_names.ipynb). Which `foo` is meant?
