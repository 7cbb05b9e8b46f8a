"""Chapter 5: what every name means."""

from __future__ import annotations

from course.table import Chapter, Exercise

EXERCISES = (
    Exercise(
        "tilelang.semantics.resolving:look_up",
        "warm-up",
        task="A `Scope` has `names`, a dict from a name to its `Definition`.",
        example="""
        >>> outer, inner = Scope(), Scope()
        >>> outer.names["x"] = Definition(Role.LET, "x", Span(0, 1))
        >>> look_up([outer, inner], "x").role, look_up([outer, inner], "y")
        (<Role.LET: 'let'>, None)
        """,
        hints=(
            "The innermost scope is the last one; begin there.",
            "The first scope that knows the name decides.",
        ),
    ),
    Exercise(
        "tilelang.near:_is_swap",
        "warm-up",
        example="""
        >>> _is_swap("acc", "cac"), _is_swap("acc", "cca")
        (True, False)
        """,
        hints=(
            "Words of different lengths are no swap.",
            "Collect the places at which they differ. There must be exactly two, side by side.",
            "And the letters there must be each other's.",
        ),
    ),
    Exercise(
        "tilelang.semantics.walking:declarations",
        "core",
        task=(
            "Three statements introduce names or hold blocks: `ast.Let` has `names`; `ast.For` and "
            "`ast.While` have a `body`; `ast.If` has `then` and `orelse`, a block or None. A loop's own "
            "variable is not declared by a statement of the block and does not count. The order is free."
        ),
        example="""
        >>> row, total = ast.Ident("row"), ast.Ident("total")
        >>> inner = ast.Block((ast.Let((total,), ast.IntLit(0)),))
        >>> loop = ast.For(ast.Ident("k"), (ast.IntLit(8),), inner)
        >>> block = ast.Block((ast.Let((row,), ast.IntLit(0)), loop))
        >>> sorted(ident.text for ident in declarations(block))
        ['row', 'total']
        """,
        hints=(
            "Keep a list of statements still to be looked at, beginning with `block.body`.",
            "`match stmt:` with `case ast.Let(names=names):` takes a node apart.",
            "The statements of inner blocks go onto the list; no recursion is needed, and a deep program "
            "does no harm.",
        ),
    ),
    Exercise(
        "tilelang.near:nearest",
        "core",
        task=(
            "Never the name itself, and nothing for an empty name or one longer than `LONGEST_NAME`; "
            "candidates that are empty or longer do not count either. `_first(names, matches)` gives the "
            "first that matches, `_squeezed` takes underscores out and capitals away, `_is_swap` and "
            "`_closest(name, known)` do what they say."
        ),
        example="""
        >>> nearest("programid", ["program_id", "num_programs"])
        'program_id'
        """,
        hints=(
            "First make a sorted list of the candidates that count: the order decides ties.",
            "Then four attempts in the order of the docstring; the first that finds something is the "
            "answer.",
            "`a or b or c` gives the first that is not None.",
        ),
    ),
    Exercise(
        "tilelang.semantics.resolving:Resolver.declare",
        "core",
        task=(
            "Make a `Definition` and note it in `self.meanings` under `id(ident)`. The name `_` is thrown "
            "away: it goes into no scope. Any other name that is visible already, in this scope or one "
            "around it, is reported with `name_errors.redeclared(ident, before, same_scope, self.sink)`, "
            "where `same_scope` says whether the innermost scope itself has it; then both definitions "
            "count as used, so that no warning follows the error. Whatever happened, the innermost scope "
            "holds the new definition afterwards."
        ),
        example="""
        >>> resolver = Resolver(ast.Module(()), Sink())
        >>> definition = declare(resolver, Role.LET, ast.Ident("row", span=Span(4, 7)))
        >>> resolver.look_up("row") is definition
        True
        """,
        hints=(
            "`self.look_up(ident.text)` is what the name means so far.",
            "`self._used` is a set of definitions: `self._used |= {before, definition}`.",
            "`self.scopes[-1].names` is the innermost scope's dict.",
        ),
    ),
    Exercise(
        "tilelang.semantics.call_graph:report_recursion",
        "hard",
        task=(
            "`calls[name]` are the calls in the body of the fn `name`. A fn is recursive if it is part of "
            "a cycle, or calls one that is. `_report(cycle, call, fns, sink)` writes the message: `cycle` "
            "is the list of names from the fn that is entered first to the one whose call closes the "
            "circle. Take the fns, and the calls of each, in the order in which they stand."
        ),
        example="""
        >>> from tilelang.syntax.parsing import parse
        >>> fns = {fn.name.text: fn for fn in parse(Source("fn f(a) { return f(a); }"), Sink()).fns}
        >>> call = fns["f"].body.body[0].values[0]
        >>> report_recursion(fns, {"f": [call]}, Sink())
        (('f',), frozenset({'f'}))
        """,
        hints=(
            "Depth first: visit a fn, then whatever it calls, then put it behind those into the order.",
            "Three kinds of fns: not seen, being visited, done. A call of one that is being visited closes "
            "a cycle.",
            "Keep the path of fns being visited, with an iterator over the calls of each: `dict[str, "
            "Iterator]` keeps the order. The cycle is the path from the called fn to the end.",
            "When a fn is done: it is recursive too if it calls a recursive one.",
        ),
    ),
)

CHAPTER = Chapter(5, "names", "Names", "names", EXERCISES)
