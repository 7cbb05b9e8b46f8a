# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 3: lexing
#
# `a+:b` has three words. `a + :b` would have four. `format` is one word, though it begins with `for`. `12abc` is none.
#
# **The question: where does a word end?**
#
# Every compiler has to answer it before anything else, for every character it is given, and also when the text is no
# program at all. In this chapter you see how little is needed for the right answer, and how much for a good message.

# %%
from course.pictures import draw_tokens
from tilelang.diagnostics import Sink, Source
from tilelang.rendering import render_plain
from tilelang.syntax.lexing import lex

# %load_ext tilelang.notebook


def tokens_of(text):
    """The tokens of a text, comments too; mistakes are printed."""
    source, sink = Source(text, "example"), Sink()
    tokens = lex(source, sink, keep_comments=True)
    for diagnostic in sink.diagnostics:
        print(render_plain(diagnostic, source), end="\n\n")
    return tokens


text = "let i = program_id(0) * 1_000 +: BLOCK;  # a tile"
draw_tokens(text, tokens_of(text))

# %% [markdown]
# A **token** is a word of the language: a kind, the text as written, and a **span**, the offsets where it begins and
# where it ends. Blanks are gone. Nothing else is lost: from tokens and spans you could write the program down again.

# %%
tokens_of(text)[:4]

# %% [markdown]
# ## Rules for words
#
# What a word looks like is written in the grammar, in its last part. Each line is a name and a **regular expression**, a
# pattern for text. Python's module `re` reads the same notation.

# %%
from tilelang.syntax.grammar import grammar_path

grammar = grammar_path().read_text()
print("\n".join(line for line in grammar.split("\n") if line.startswith(("NAME:", "INT:", "FLOAT:", "STRING:", "COMMENT:"))))

# %% [markdown]
# Symbols and keywords stand in the grammar's rules, in quotes. So at each place several patterns may fit, and the lexer
# must choose. The rule is old and the same in nearly every language: **the longest match wins**, and of two equally long
# ones the more special (a keyword, and not a name).
#
# Here is what goes wrong without that rule. A regular expression tries its alternatives in the order in which they are
# written, and takes the first that fits:

# %%
import re

symbols = ["+", "+=", "+:", "<", "<=", "<<", "<<=", ":", "="]


def cut(text, symbols):
    """Cut a text of names and symbols into words."""
    pattern = r"[a-z]\w*|" + "|".join(map(re.escape, symbols))
    return re.findall(pattern, text)


for text in ("a+:b", "a<<=b"):
    print(f"{text:<8} shortest first {cut(text, symbols)!s:<32} longest first {cut(text, sorted(symbols, key=len, reverse=True))}")

# %% [markdown]
# Lark, the library that runs our grammar, sorts the patterns by length before it joins them. Keywords are found in
# another way: a word is first matched as a name, whole, and then looked up. That is why `format` is safe.

# %%
for text in ("for mat", "format", "for_", "a+ :b", "a+:b", "x<<=2", "1.5e-3", "0xff_ff"):
    print(f"{text:<10}", *(f"{token.kind} `{token.text}`  " for token in tokens_of(text)))

# %% [markdown]
# ## What is behind a regular expression
#
# To match a word, a lexer need not look at any character twice. It keeps one thing in mind, the **state**: what has been
# seen so far, as far as it matters. A table says for each state and next character what the next state is. Such a
# machine is called a **finite automaton**. Every regular expression can be made into one, and that is how most lexers
# run.
#
# This one knows decimal and hexadecimal numbers with `_` between digits. A state that is in `ends` may end a word.

# %%
def kind_of(char):
    """What kinds of character the table tells apart."""
    if char == "0":
        return "zero"
    if char in "123456789":
        return "digit"
    if char in "abcdefABCDEF":
        return "letter a-f"
    return {"x": "x", "X": "x", "_": "_"}.get(char, "other")


table = {
    "start":      {"zero": "zero", "digit": "decimal"},
    "zero":       {"x": "prefix"},
    "decimal":    {"zero": "decimal", "digit": "decimal", "_": "decimal gap"},
    "decimal gap": {"zero": "decimal", "digit": "decimal"},
    "prefix":     {"zero": "hex", "digit": "hex", "letter a-f": "hex", "_": "hex gap"},
    "hex":        {"zero": "hex", "digit": "hex", "letter a-f": "hex", "_": "hex gap"},
    "hex gap":    {"zero": "hex", "digit": "hex", "letter a-f": "hex"},
}
ends = {"zero", "decimal", "hex"}


def longest_number(text):
    """(how many characters of the text are a number, the states on the way)."""
    state, way, length = "start", [], 0
    for place, char in enumerate(text):
        state = table[state].get(kind_of(char))
        if state is None:
            break
        way.append(state)
        if state in ends:
            length = place + 1      # the longest so far; going on may make it longer
    return length, way


for text in ("42;", "1_000+1", "0x1f", "0x", "7_", "007"):
    length, way = longest_number(text)
    print(f"{text:<8} number: {text[:length]!r:<8} {' > '.join(way)}")

# %% [markdown]
# Look at `0x` and `7_`. The machine went on hoping, and had to go back to the last state that may end a word. What is
# left over, `x` and `_`, would be a name: two tokens, `0` and `x`, and an odd message from the parser about the second.
# The real lexer says something better, as we will see.
#
# ## Where is it?
#
# A span is two numbers, counted from the start of the text. People want line and column. Counting line breaks for each
# message would do, but is slow for many messages in a large file. So the source finds all line starts once, and then
# searches by halving.

# %%
source = Source("kernel k(x: f32[N])\n  grid (N) {\n    let é = 1;\n}\n")
print("lines start at", source.line_starts)
for offset in (0, 7, 22, 40, 41):
    print(f"offset {offset:>2} is {source.text[offset]!r:<4} in line, column {source.position(offset)}")

# %% [markdown]
# This is one of your exercises, `Source.position`. It is two lines long, and easy to get wrong by one in two places.
#
# ## When it is no word
#
# A text may contain anything. A lexer that stops at the first odd character is correct, and no help. Ours cannot stop:
# besides the patterns for good words, the grammar has patterns for bad ones. `BAD_NUMBER` fits what begins like a number
# and is none, `OPEN_STRING` what has no closing quote, and the last, `BAD_CHARACTER`, any character at all. So every text
# can be cut into tokens, and each bad one gets a message that knows what it is.

# %%
bad = "let a = 12abc + 0x + 7_;"
found = tokens_of(bad)
print("what the parser gets:", *(token.text for token in found))

# %% [markdown]
# The last line matters. Each bad token was **mended**: the lexer put a good one of the same kind in its place, so that
# the parser does not stumble over it again. One mistake, one message.
#
# Some more that people make. The first two come from text that was copied from a web page or a word processor.

# %%
for bad in ("let a = b − c;", "print(“total”, v);", "if a && b { }", "let p = x ** 2;", "let s = 'text';"):
    tokens_of(bad)

# %% [markdown]
# `tilec explain E0004`, with the code of a message, tells more about it.
#
# What about a text that is meant to do harm? A file of a hundred megabytes, a number of a million digits, an unprintable
# character that makes a line look like another: each has a limit or a message. You find the limits in
# [`tilelang/syntax/limits.py`](../tilelang/syntax/limits.py).

# %%
tokens_of("let a = " + "9" * 1_000_000 + ";")[3]

# %% [markdown]
# ## The compiler's own lexer
#
# All of this is in two files, [`lexing.py`](../tilelang/syntax/lexing.py) for the way through the text and
# [`lexemes.py`](../tilelang/syntax/lexemes.py) for single words. The second has most of the exercises.

# %%
import inspect

from tilelang.syntax import lexing

print(inspect.getsource(lexing._checked))

# %% [markdown]
# ## Change it
#
# 1. Add binary numbers, `0b101`, to the table of the automaton. How many states do you need?
# 2. Which texts does `cut` (longest first) read differently from the real lexer? Try `a+:=b`.
# 3. What are the tokens of `1.`, `.5`, `1..2`, `1.5.2`? Guess before you run `tokens_of`.
# 4. `#` begins a comment, except in a string. Who takes care of that?

# %%
for text in ("1.", ".5", "1..2", 'print("#", v); # really'):
    print(text, "->", [token.text for token in tokens_of(text)], end="\n\n")

# %% [markdown]
# ## Exercises
#
# Write the functions in [`course/ch03_lexing/exercise.py`](../course/ch03_lexing/exercise.py). They are the compiler's
# own, so when they are right, the compiler can run on yours. The last one, `scan`, is a whole lexer by hand. This cell
# grades them; run it as often as you like.

# %%
from course.checking_cells import grade_chapter

grade_chapter("ch03")

# %% [markdown]
# And this compiles a program with those that you have written:

# %%
import course
import tilelang

with course.installed("ch03") as mine:
    print(mine)
    tilelang.load("../course/kernels/softmax.tile")

# %% [markdown]
# ## In short
#
# - A **token** has a kind, a text and a **span**. A **lexer** makes them of characters.
# - Words are described by **regular expressions**. The **longest match** wins; then the more special one.
# - A **finite automaton** reads each character once and remembers only a state.
# - Line and column are found by halving in the list of line starts.
# - A lexer that has patterns for bad words too can read any text, and **mends** what it reports.
#
# **Where this differs from the real thing.** Triton's kernels are Python functions, so Python's own lexer reads them, and
# its messages are Python's. Languages with indentation (Python) need a lexer that counts blanks; some (C++, Rust) cannot
# cut `>>` without knowing what stands before it. Lexers that must be fast, in editors and for millions of lines, are
# written by hand or as automata in C; ours goes through Python's `re`.
#
# ## Further reading
#
# - A. Aho, M. Lam, R. Sethi, J. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition, 2006, chapter 3:
#   regular expressions, automata, and how to make one of the other.
# - R. Cox, [*Regular expression matching can be simple and fast*](https://swtch.com/~rsc/regexp/regexp1.html), 2007.
# - R. Nystrom, [*Crafting Interpreters*](https://craftinginterpreters.com/scanning.html), chapter 4.
# - Unicode Technical Standard 39, [*Unicode security mechanisms*](https://www.unicode.org/reports/tr39/):
#   characters that look alike, and why identifiers here are plain ASCII.
#
# Next: [chapter 4, parsing](04_parsing.ipynb). What belongs to what?
