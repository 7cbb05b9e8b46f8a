# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Chapter 2: a compiler in five stages
#
# A program is a text, a row of characters. A processor knows nothing of characters.
#
# **The question: how does a text become something that runs?**
#
# In five steps, and each is short enough to write in one cell. In this chapter we write a whole compiler, from nothing,
# for a language so small that nothing distracts from the steps. The compiler of this course does the same five things
# to a larger language. The later chapters take them up one by one.
#
# The language is called `lo`. This is a program:
#
# ```
# O = 2 + 3; L = 5 * 2;
# ```
#
# It has two results, named `O` and `L`, and no other names are allowed. A statement gives a result the value of one
# operation on two digits, and ends in `;`. There are four operators, `+ - * /`, and any number of statements. `/` is
# for whole numbers and rounds down, as `//` does in Python.

# %%
from pathlib import Path

grammar = Path("../grammar/lo.lark").read_text()
print(grammar)

# %% [markdown]
# This is a **grammar**. Read `:` as "is made of", `*` as "any number of", `|` as "or". Names in small letters are
# **rules**, names in capitals are words. There are four rules. For each we will write one function. (The `!` and the
# last line are remarks for a tool that we meet at the end.)
#
# The plan, with what passes from stage to stage:
#
# | stage | takes | gives |
# | --- | --- | --- |
# | 1 lexing | text | tokens |
# | 2 parsing | tokens | a tree |
# | 3 checking | a tree | a list of mistakes |
# | 4 optimising | simple steps | fewer simple steps |
# | 5 generating code | simple steps | a text or numbers that a machine can run |
#
# First a way to say what is wrong. A message without a place is of little use, so a mistake knows where it is.

# %%
class Mistake(Exception):
    """Something wrong in a program; `at` is the number of the character."""

    def __init__(self, message, at):
        super().__init__(message)
        self.at = at


def show(mistake, text):
    """The line of the program with a mark below the place."""
    before = text[:mistake.at]
    line = text.split("\n")[before.count("\n")]
    column = mistake.at - (before.rfind("\n") + 1)
    print(f"{line}\n{' ' * column}^ {mistake}\n")


# %% [markdown]
# ## Stage 1: lexing
#
# The lexer cuts the text into words. Each **token** has a kind, its text, and its place. Blanks separate words and mean
# nothing, so they are dropped. A character that begins no word is a mistake.

# %%
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


KINDS = {"result": "[LO]", "digit": "[0-9]", "operator": "[-+*/]", "equals": "=", "end": ";",
         "blank": r"[ \t\r\n]+", "bad": "."}             # what is none of the others is bad
WORD = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()))


def lex(text):
    """Text to tokens."""
    tokens = []
    for match in WORD.finditer(text):
        if match.lastgroup == "bad":
            raise Mistake(f"no word of lo begins with {match.group()!r}", match.start())
        if match.lastgroup != "blank":
            tokens.append(Token(match.lastgroup, match.group(), match.start()))
    return tokens


program = "O = 2 + 3; L = 5 * 2;"
for token in lex(program):
    print(f"{token.at:>3}  {token.kind:<9} {token.text}")

# %%
wrong = "O = 2 + 3; X = 1 + 1;"
try:
    lex(wrong)
except Mistake as mistake:
    show(mistake, wrong)

# %% [markdown]
# The lexer does not know whether the words make sense together. `3 = ; ;` is fine with it. That is the next stage's
# business.
#
# ## Stage 2: parsing
#
# The parser finds the structure. We write one function for each rule of the grammar. It looks at the next token, takes
# what its rule says, and calls the functions of other rules where the rule names them. This method is called
# **recursive descent**. (Ours does not recurse, because no rule of `lo` contains itself. A grammar with brackets would
# make it.)
#
# What comes out is a **parse tree**: a node for each rule that was used, with the words at its tips.

# %%
from course.pictures import Tree, draw_tree


class Parser:
    """Tokens to a tree; a method for each rule."""

    def __init__(self, tokens):
        self.tokens, self.next = tokens, 0

    def take(self, kind, wanted):
        """The next token, which must be of this kind."""
        last = self.tokens[-1] if self.tokens else Token("", "", 0)
        found = self.tokens[self.next] if self.next < len(self.tokens) else Token("nothing", "", last.at + 1)
        if found.kind != kind:
            shown = f"found `{found.text}`" if found.text else "the program ends here"
            raise Mistake(f"{wanted} should stand here; {shown}", found.at)
        self.next += 1
        return Tree(found.text, leaf=True)

    def program(self):
        # program: statement*
        statements = []
        while self.next < len(self.tokens):
            statements.append(self.statement())
        return Tree("program", tuple(statements))

    def statement(self):
        # statement: result "=" operation ";"
        return Tree("statement", (self.result(), self.take("equals", "`=`"), self.operation(), self.take("end", "`;`")))

    def result(self):
        # result: "L" | "O"
        return Tree("result", (self.take("result", "`L` or `O`"),))

    def operation(self):
        # operation: DIGIT OPERATOR DIGIT
        return Tree("operation", (self.take("digit", "a digit"), self.take("operator", "an operator"),
                                  self.take("digit", "a digit")))


def parse(tokens):
    """Tokens to the parse tree."""
    return Parser(tokens).program()


draw_tree(parse(lex(program)), program)

# %% [markdown]
# Read the yellow words from left to right, and you have the program back. The tree adds what belongs to what.
#
# Now the messages. Each says what should stand there, because the parser knows which rule it is in.

# %%
for wrong in ("O = 2 + ;", "O = 12 + 3;", "O = 1 + 2", "L 5 * 2;", "O = 2 + 3 + 4;"):
    try:
        parse(lex(wrong))
        print("no mistake:", wrong)
    except Mistake as mistake:
        show(mistake, wrong)

# %% [markdown]
# Much of the parse tree is of no further use: we know that `=` and `;` are there. What is left when such words are
# dropped is the **abstract syntax tree**, AST for short. For `lo` it is a list of statements.

# %%
@dataclass(frozen=True)
class Assign:
    """`result = left operator right`; `at` is where the operator stands."""

    result: str
    left: int
    operator: str
    right: int
    at: int


def build(tree, tokens):
    """The parse tree to the AST."""
    places = [token.at for token in tokens if token.kind == "operator"]
    statements = []
    for statement, at in zip(tree.parts, places, strict=True):
        result, _, operation, _ = statement.parts
        left, operator, right = (part.label for part in operation.parts)
        statements.append(Assign(result.parts[0].label, int(left), operator, int(right), at))
    return statements


ast = build(parse(lex(program)), lex(program))
ast

# %% [markdown]
# ## Stage 3: checking
#
# A sentence can be good grammar and still be nonsense. `L = 5 / 0;` follows every rule. What the grammar cannot say is
# checked on the tree: this is the **semantic check**. Two things can be wrong in `lo`:
#
# - A division by zero. That is an error.
# - A result that gets a second value. Nobody will ever see the first. That is allowed, but surely not meant: a warning.
#
# Unlike the parser, which is lost after the first mistake, the check can go on and find all of them.

# %%
def check(ast):
    """(errors, warnings), each a list of mistakes."""
    errors, warnings, last = [], [], {}
    for statement in ast:
        if statement.operator == "/" and statement.right == 0:
            errors.append(Mistake("division by zero", statement.at))
        if statement.result in last:
            warnings.append(Mistake(f"this value of {statement.result} is replaced before anybody sees it",
                                    last[statement.result]))
        last[statement.result] = statement.at
    return errors, warnings


wrong = "O = 1 + 1; L = 5 / 0;\nO = 8 / 0;"
errors, warnings = check(build(parse(lex(wrong)), lex(wrong)))
for kind, found in (("error", errors), ("warning", warnings)):
    for mistake in found:
        print(f"{kind}:")
        show(mistake, wrong)

# %% [markdown]
# ## Stage 4: optimising
#
# A tree is good for checking, and awkward for making a program better. For that we write it down as a list of steps, so
# small that each does one thing: an **intermediate representation**, IR for short. Every step gives its value a new name
# that never changes.

# %%
@dataclass(frozen=True)
class Step:
    """`name = what parts`; an `out` gives a result its value."""

    what: str
    name: str
    parts: tuple

    def __str__(self):
        return f"{self.name} = {self.what} {', '.join(map(str, self.parts))}"


WORDS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
MEANING = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "div": int.__floordiv__}


def to_steps(ast):
    """The AST to IR."""
    steps = []
    for number, statement in enumerate(ast):
        a, b, c = (f"%{letter}{number}" for letter in "abc")
        steps += [Step("const", a, (statement.left,)), Step("const", b, (statement.right,)),
                  Step(WORDS[statement.operator], c, (a, b)), Step("out", statement.result, (c,))]
    return steps


steps = to_steps(ast)
print(*steps, sep="\n")

# %% [markdown]
# What does such a list mean? An **interpreter** says it exactly: do one step after another, and remember each value. We
# will need it to see that the optimisations change nothing.

# %%
def interpret(steps):
    """The results of a program in IR."""
    values, results = {}, {}
    for step in steps:
        if step.what == "const":
            values[step.name] = step.parts[0]
        elif step.what == "out":
            results[step.name] = values[step.parts[0]]
        else:
            values[step.name] = MEANING[step.what](*(values[part] for part in step.parts))
    return results


interpret(steps)

# %% [markdown]
# Now make it better. A **pass** takes steps and returns steps that mean the same. Two passes are enough here.
#
# **Fold.** If both parts of an operation are known numbers, compute it now, while compiling, and not each time the
# program runs.
#
# **Drop.** A step whose value nobody uses can go. So can an `out` that is followed by another of the same result. To see
# what is used later, the pass goes through the list backwards.

# %%
def fold(steps):
    """Operations on known numbers become numbers."""
    known, result = {}, []
    for step in steps:
        if step.what in MEANING and all(part in known for part in step.parts):
            step = Step("const", step.name, (MEANING[step.what](*(known[part] for part in step.parts)),))
        if step.what == "const":
            known[step.name] = step.parts[0]
        result.append(step)
    return result


def drop(steps):
    """Without the steps that nobody needs."""
    used, written, result = set(), set(), []
    for step in reversed(steps):
        needed = step.name not in written if step.what == "out" else step.name in used
        if needed:
            (written if step.what == "out" else used).add(step.name)
            used |= {part for part in step.parts if isinstance(part, str)}
            result.append(step)
    return result[::-1]


def optimise(steps):
    return drop(fold(steps))


print(len(steps), "steps became", len(optimise(steps)))
print(*optimise(steps), sep="\n")

# %% [markdown]
# Here is a program with one more statement, so that one `out` can be dropped. A colour is a statement; follow it from
# left to right.

# %%
from course.pictures import Column, Row, side_by_side


def rows(steps):
    """The steps as rows of a picture; the number in a name says which statement it belongs to."""
    return tuple(Row(str(step), 1 + int(re.search(r"%.(\d+)", str(step)).group(1))) for step in steps)


longer = "O = 2 + 3;\nL = 5 * 2;\nO = 8 / 4;"
written = to_steps(build(parse(lex(longer)), lex(longer)))
side_by_side([Column("program", tuple(Row(line, n) for n, line in enumerate(longer.split("\n"), 1))),
              Column("steps", rows(written)), Column("after fold", rows(fold(written))),
              Column("after drop", rows(optimise(written)))])

# %% [markdown]
# The order matters. Folding leaves numbers that nobody needs any more, and dropping takes them away. The other way round
# they would stay: try `fold(drop(steps))`.
#
# In `lo` everything is known while compiling, so nothing is left to compute. In a real language most values come from
# outside. The passes are the same; they just find less.

# %% [markdown]
# ## Stage 5: generating code
#
# The last stage writes the steps in a language that a machine can run. Which machine? We do three, to see that nothing
# before this stage has to know.
#
# **Python.** A text that Python compiles further.

# %%
SIGN = {"add": "+", "sub": "-", "mul": "*", "div": "//"}


def plain(part):
    """A name that Python and other languages allow."""
    return part.replace("%", "")


def to_python(steps):
    """IR to the text of a Python function."""
    lines = ["def run():", "    results = {}"]
    for step in steps:
        if step.what == "const":
            lines.append(f"    {plain(step.name)} = {step.parts[0]}")
        elif step.what == "out":
            lines.append(f"    results['{step.name}'] = {plain(step.parts[0])}")
        else:
            left, right = map(plain, step.parts)
            lines.append(f"    {plain(step.name)} = {left} {SIGN[step.what]} {right}")
    return "\n".join([*lines, "    return results"]) + "\n"


code = to_python(optimise(steps))
print(code)
names = {}
exec(code, names)
names["run"]()

# %% [markdown]
# **A stack machine.** Many virtual machines, Python's own among them, have no names for values. They have a stack:
# `push` puts a number on top, `add` takes two away and puts their sum there. Here is the machine, and the generator for
# it. The code is made from the tree, since a tree's order is just the order that a stack wants.

# %%
def to_stack(ast):
    """AST to instructions for the stack machine."""
    code = []
    for statement in ast:
        code += [("push", statement.left), ("push", statement.right), (WORDS[statement.operator],),
                 ("store", statement.result)]
    return code


def stack_machine(code):
    """Run the instructions."""
    stack, results = [], {}
    for word, *rest in code:
        if word == "push":
            stack.append(rest[0])
        elif word == "store":
            results[rest[0]] = stack.pop()
        else:
            right, left = stack.pop(), stack.pop()   # the last one pushed is the right operand
            stack.append(MEANING[word](left, right))
    return results


for instruction in to_stack(ast):
    print(*instruction)
stack_machine(to_stack(ast))

# %% [markdown]
# **The compiler of this course.** Nothing keeps us from writing a `.tile` program. From there the text takes the road of
# chapter 0, and ends as machine code for your CPU. A small compiler in front of a large one: that is how many languages
# begin.

# %%
import tilelang

# %load_ext tilelang.notebook


def to_tile(steps):
    """IR to a kernel with one program; the results are O and L, in this order."""
    lines = ["kernel lo(out results: i32[2]) grid (1) {"]
    for step in steps:
        if step.what == "const":
            lines.append(f"    let {plain(step.name)} = {step.parts[0]};")
        elif step.what == "out":
            lines.append(f"    results[{'OL'.index(step.name)}] = {plain(step.parts[0])};")
        else:
            left, right = map(plain, step.parts)
            lines.append(f"    let {plain(step.name)} = {left} {SIGN[step.what]} {right};")
    return "\n".join([*lines, "}"]) + "\n"


translated = tilelang.compile(to_tile(steps))
translated

# %%
translated["lo"]()

# %% [markdown]
# We gave it the steps before our own optimisation, since the large compiler folds too:

# %%
kernel = translated["lo"].compile(device="cpu")
kernel.optimized

# %% [markdown]
# ## The whole compiler
#
# Five stages, one after another. This function is the toy's version of [`tilelang/driver.py`](../tilelang/driver.py).

# %%
def compile_lo(text):
    """A program of lo as a Python function. Raises Mistake."""
    tokens = lex(text)
    ast = build(parse(tokens), tokens)
    errors, warnings = check(ast)
    for warning in warnings:
        show(warning, text)
    if errors:
        raise errors[0]
    names = {}
    exec(to_python(optimise(to_steps(ast))), names)
    return names["run"]


compile_lo("O = 9 - 2; L = 7 / 2;")()

# %% [markdown]
# ## Is it right?
#
# A compiler that is wrong once in a thousand programs is worse than none. So we make two thousand programs at random, and
# hold four ways of running them against each other. Python itself says what is right.

# %%
import random
from contextlib import redirect_stdout
from io import StringIO

chance = random.Random(0)


def random_program():
    statements = []
    for _ in range(chance.randrange(6)):
        operator = chance.choice("+-*/")
        right = chance.randrange(operator == "/", 10)      # no division by zero
        blanks = [" " * chance.randrange(3) for _ in range(4)]
        words = (chance.choice("LO"), "=", str(chance.randrange(10)), operator + blanks[3] + str(right))
        statements.append("".join(word + blank for word, blank in zip(words, blanks, strict=True)) + ";")
    return "\n".join(statements)


def by_python(text):
    """What the program means, without any of our stages."""
    names = {}
    exec(text.replace("/", "//"), {}, names)
    return names


tried = 0
for _ in range(2000):
    text = random_program()
    tree = build(parse(lex(text)), lex(text))
    unchanged = to_steps(tree)
    with redirect_stdout(StringIO()):                       # the warnings are not of interest here
        ways = {"compiled": compile_lo(text)(), "interpreted": interpret(unchanged),
                "optimised": interpret(optimise(unchanged)), "stack": stack_machine(to_stack(tree))}
    for way, found in ways.items():
        assert found == by_python(text), (way, text, found)
    tried += 1
print(tried, "programs, four ways each: all agree with Python")

# %% [markdown]
# And the parser? The grammar file is not only to look at. [Lark](https://lark-parser.readthedocs.io) reads it and makes
# a parser of it, without our functions. Both must draw the same tree.

# %%
import lark

made_by_lark = lark.Lark(grammar, parser="lalr", start="program", keep_all_tokens=True)


def as_tree(node):
    """Lark's tree as ours."""
    if isinstance(node, lark.Tree):
        return Tree(str(node.data), tuple(as_tree(part) for part in node.children))
    return Tree(str(node), leaf=True)


same = all(as_tree(made_by_lark.parse(text)) == parse(lex(text)) for text in (random_program() for _ in range(200)))
print("the same trees:", same)

# %% [markdown]
# The large compiler leaves parsing to Lark, and puts its effort into messages. Chapter 4 says how Lark does it.

# %% [markdown]
# ## Change it
#
# 1. Add the operator `%`. Which stages have to change? (Not all.)
# 2. Allow a third result, `X`. Which stages now?
# 3. Let operands have several digits. It is one character in the lexer, and one in the grammar.
# 4. Allow `O = 2 + 3 * 4;`. Now the grammar must say what is computed first. Chapter 4 is about that.
# 5. Allow a result as an operand: `O = 2 + 3; L = O * 2;`. What must the check look for then?

# %% [markdown]
# ## Your turn
#
# **1.** Warm-up: the results that a program gives values to, each once, in the order in which they first appear.

# %%
from course.checking_cells import check_function


def results_of(text):
    """Work on `lex(text)`."""
    return []                                               # write it


check_function(results_of, [(("O = 1 + 1;",), ["O"]), (("L = 1 + 1; O = 2 * 2; L = 3 - 1;",), ["L", "O"]), (("",), [])])

# %% [markdown]
# **2.** A pass: **reuse**. If two steps load the same number, the second is not needed; whoever used it can use the first.
# (Compilers call the general form common subexpression elimination.) Return new steps, and leave the order as it is.

# %%
def reuse(steps):
    """Each number is loaded once."""
    return steps                                            # write it


def reused(text):
    """(number of steps after reuse, what they mean)."""
    made = reuse(to_steps(build(parse(lex(text)), lex(text))))
    return len(made), interpret(made)


check_function(reused, [(("O = 2 + 3;",), (4, {"O": 5})), (("O = 2 + 2;",), (3, {"O": 4})),
                        (("O = 2 + 3; L = 3 - 2;",), (6, {"O": 5, "L": 1})),
                        (("O = 7 * 7; L = 7 / 7; O = 7 - 1;",), (8, {"O": 6, "L": 1}))])

# %% [markdown]
# **3.** Hard: how many places must the stack have for a program? Do not run it; look at the instructions. (The same
# question for registers, asked by a compiler for a GPU, is chapter 10's **liveness**.)

# %%
def deepest(code):
    """The largest number of values on the stack at any time."""
    return 0                                                # write it


check_function(deepest, [(([],), 0), (([("push", 1), ("store", "O")],), 1), ((to_stack(ast),), 2),
                         (([("push", 1), ("push", 2), ("push", 3), ("add",), ("mul",), ("store", "L")],), 3)])

# %% [markdown]
# ## In short
#
# - A **lexer** cuts text into **tokens**. A **parser** finds their structure by the rules of a **grammar**.
# - **Recursive descent** is a parser with a function for each rule.
# - The **parse tree** has every word. The **AST** has what matters.
# - The **semantic check** finds what the grammar cannot say.
# - An **IR** is a program in small steps. A **pass** makes better steps that mean the same. An **interpreter** says what
#   they mean.
# - The **code generator** writes for a machine. Only it has to know which.
#
# The same stages in the large compiler, with the lines they take:

# %%
rooms = {"lexing and parsing": ("syntax",), "checking": ("semantics",), "IR, interpreter": ("ir",),
         "passes": ("passes",), "tiles to threads": ("tiling", "memory"), "generating code": ("codegen",)}
for stage, folders in rooms.items():
    files = [path for folder in folders for path in Path("../tilelang", folder).rglob("*.py")]
    lines = sum(len(path.read_text().splitlines()) for path in files)
    print(f"{stage:<20} {lines:>6,} lines in {len(files):>2} files of {', '.join('tilelang/' + f for f in folders)}")

# %% [markdown]
# **Where this differs from the real thing.** `lo` has no names that stand for values, no types, no loops, no functions.
# Its compiler stops at the first mistake of lexing and parsing, where a good one goes on. Its IR needs no places for
# values, since there is no shortage of names; a real machine has few registers. Everything that makes compilers large is
# in these gaps.
#
# ## Further reading
#
# - R. Nystrom, [*Crafting Interpreters*](https://craftinginterpreters.com), chapters 4 to 8 and 14 to 15.
# - N. Wirth, *Compiler Construction*, 1996. A whole compiler in a hundred pages.
# - A. Aho, M. Lam, R. Sethi, J. Ullman, *Compilers: Principles, Techniques, and Tools*, 2nd edition, 2006: the first two
#   chapters tell the five stages.
# - R. Ueyama, [*chibicc*](https://github.com/rui314/chibicc): a C compiler that grows by one idea a commit.
# - [Lark's documentation](https://lark-parser.readthedocs.io): the grammar language used here.
#
# Next: [chapter 3, lexing](03_lexing.ipynb). Where does a word end?
