"""Chapter 4: from tokens to a tree."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.syntax.parsing:_is_open",
        "warm-up",
        task=(
            "`brackets` are the open ones, outermost first. Brackets outside of the innermost `{` do not "
            "count: nobody closes them from inside a block. For `opener` `{` itself the innermost block is "
            "the answer."
        ),
        example="""
        >>> at = Span(0, 1)
        >>> _is_open("(", [Token("symbol", "(", at), Token("symbol", "[", at)])
        True
        >>> _is_open("(", [Token("symbol", "(", at), Token("symbol", "{", at)])
        False
        """,
        hints=(
            "Go from the innermost bracket outwards.",
            "Stop at the first `{`; whatever is behind it does not count.",
        ),
    ),
    Exercise(
        "tilelang.syntax.mistakes:describe",
        "warm-up",
        task=(
            "Four cases: the kind `end` is \"the end of the file\"; a keyword is \"the keyword `let`\"; a "
            "string is \"a string\", without its text; any other token is its text between backticks, of "
            "which at most 30 characters are shown: a longer one is cut to 29 and `…`."
        ),
        example="""
        >>> describe(Token("keyword", "let", Span(0, 3)))
        'the keyword `let`'
        """,
        hints=(
            "Ask `token.kind` first.",
            "`text[:29] + \"…\"` has 30 characters.",
        ),
    ),
    Exercise(
        "tilelang.semantics.evaluation:left_spine",
        "core",
        task=(
            "Walk down with a loop, not by calling yourself: a sum of 4000 terms is 4000 deep. Parentheses "
            "have left no trace in the tree; only the left side is followed."
        ),
        example="""
        >>> a, b, c = ast.Name("a"), ast.Name("b"), ast.Name("c")
        >>> inner = ast.Binary("+", a, b)
        >>> left_spine(ast.Binary("+", inner, c)) == (a, [inner, ast.Binary("+", inner, c)])
        True
        """,
        hints=(
            "Collect the node, go to its `left`, and so on while it is a `Binary`.",
            "You collect from the outside in; the answer is innermost first.",
        ),
    ),
    Exercise(
        "tilelang.syntax.layout:_split_at_operators",
        "core",
        task=(
            "A formatter breaks a long line where the operators bind most loosely. `_BREAKS` lists the "
            "operators by how loosely they bind, loosest first. Only words at the depth of the first word "
            "count (`word.depth`: brackets around it), not the first word itself, and not one behind a "
            "`}`. `_cut(words, edges)` cuts in front of each index in `edges`. Where there is no operator, "
            "the whole line is the one piece."
        ),
        example="""
        >>> words = words_of(lex(Source("a * b + c * d"), Sink()))
        >>> [join(piece) for piece in _split_at_operators(words)]
        ['a * b', '+ c * d']
        """,
        hints=(
            "For each set of operators in `_BREAKS` collect the indexes of the words that are one of them.",
            "The first set with any index decides; the tighter ones are left alone.",
            "`word.operator` is empty for a sign: `-x` is not cut.",
        ),
    ),
    Exercise(
        "tilelang.syntax.build_expressions:ExpressionRules._attach_to_read",
        "core",
        task=(
            "`x[i] where m else v`: the grammar takes any clauses in any order, here they find their "
            "place. `where` goes into `mask`, `else` into `other`, with `dataclasses.replace`; the read's "
            "span then reaches to the end of the clause. Each may come once, and `where` comes first: for "
            "anything else report E0120 at the clause with `self.sink.error` and give the read back as it "
            "was."
        ),
        example="""
        >>> rules = ExpressionRules(Sink())
        >>> read = ast.Index(ast.Name("x"), (ast.Name("i"),), span=Span(0, 4))
        >>> done = _attach_to_read(rules, Clause("else", ast.IntLit(0), Span(5, 11)), read)
        >>> done.other, done.span
        (IntLit(value=0), Span(start=0, end=11))
        """,
        hints=(
            "A `where` is welcome while the read has neither mask nor other.",
            "An `else` is welcome while it has no other.",
            "`read.span.to(clause.span)` is the span of both together.",
        ),
    ),
    Exercise(
        "course.extra:climb",
        "hard",
        task=(
            "An operator whose number in `BINDING` is larger binds tighter. All of them associate to the "
            "left: `a - b - c` is `(a - b) - c`. The prefix operators: the operand of `not` is a whole "
            "comparison (at least 3), that of `-` and `~` binds tighter than any operator (at least 12). "
            "The tokens are names, whole numbers, operators and round brackets, without mistakes. Spans "
            "need not be given."
        ),
        example="""
        >>> tree, rest = climb(lex(Source("a + b * c"), Sink()))
        >>> tree.op, tree.right.op, list(rest)
        ('+', '*', [])
        """,
        hints=(
            "First the operand: a bracket, a prefix operator with its own operand, a number or a name.",
            "Then, as long as the next token is an operator that binds at least as tightly as `loosest`: "
            "its right side is everything that binds tighter than it, `climb(rest, BINDING[operator] + 1)`.",
            "What you have becomes the left side of the new node; go round again.",
            "`BINDING.get(text, 0)` is 0 for what is no operator, so a `)` ends the loop by itself.",
        ),
    ),
    Exercise(
        "tilelang.syntax.machine:Machine.accepts",
        "hard",
        task=(
            "An LALR parser meets a token by reducing finished rules until it can shift the token. "
            "`self._state.state_stack` is the stack of states, innermost last. "
            "`self._table[state].get(terminal)` is None (the token is wrong), `(Shift, state)`, or an "
            "action with the rule to reduce: `len(rule.expansion)` states go, then "
            "`self._table[below][rule.origin.name][1]` is pushed, where `below` is the topmost state left. "
            "For `$END` the answer is also True once the topmost state is "
            "`self._state.parse_conf.end_state`. Play it through without touching the machine's own stack."
        ),
        example="""
        >>> machine = Machine()
        >>> for token in lex(Source("const N ="), Sink()):
        ...     _ = machine.feed(token)
        >>> accepts(machine, "INT"), accepts(machine, "SEMICOLON")
        (True, False)
        """,
        hints=(
            "The simplest way: copy the stack into a list of your own and reduce there.",
            "In a loop: look the terminal up in the topmost state's row. None: False. Shift: True. Else "
            "reduce.",
            "`del stack[len(stack) - size:]` takes `size` states off; with `size` 0 it must take none.",
            "After each reduction ask whether this was the end: terminal `$END` and topmost state the end "
            "state.",
        ),
    ),
)

CHAPTER = Chapter(4, "parsing", "Parsing", "module", EXERCISES)
