"""Graders of chapter 5."""

from __future__ import annotations

from course.checking import check, fresh
from course.learner import Learner
from tilelang.diagnostics import Span
from tilelang.near import LONGEST_NAME
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.resolving import Scope

# --- look_up ----------------------------------------------------------------------------------------


def _scopes(*blocks: str) -> list[Scope]:
    """One scope for each text, with a name for each letter; the span says which scope it was."""
    scopes = []
    for number, letters in enumerate(blocks):
        scope = Scope()
        for letter in letters:
            scope.names[letter] = Definition(Role.LET, letter, Span(number, number + 1))
        scopes.append(scope)
    return scopes


def _where(look_up: Learner, name: str, *blocks: str) -> None:
    numbers = [n for n, letters in enumerate(blocks) if name in letters]
    expected = numbers[-1] if numbers else None
    why = "the innermost scope that has the name decides" if numbers else "no scope has that name: None"
    check(look_up.via("scope_number"), _scopes(*blocks), name, gives=expected, why=why)


def test_a_name_in_one_scope(look_up: Learner) -> None:
    _where(look_up, "a", "abc")
    _where(look_up, "a", "abc", "xyz")
    _where(look_up, "x", "abc", "xyz")


def test_an_inner_name_hides_an_outer_one(look_up: Learner) -> None:
    _where(look_up, "a", "a", "a", "a")
    _where(look_up, "a", "a", "ab", "b")


def test_names_that_are_not_there(look_up: Learner) -> None:
    _where(look_up, "q", "abc", "xyz")
    check(look_up.via("scope_number"), [], "a", gives=None, why="without scopes nothing is visible")


def test_random_scopes(look_up: Learner) -> None:
    rng = fresh()
    for _ in range(20):
        blocks = ["".join(rng.sample("abcdef", rng.randint(0, 4))) for _ in range(rng.randint(1, 5))]
        _where(look_up, rng.choice("abcdef"), *blocks)


# --- _is_swap ---------------------------------------------------------------------------------------


def test_neighbours_that_changed_places(_is_swap: Learner) -> None:
    for a, b in (("acc", "cac"), ("row", "rwo"), ("ab", "ba"), ("sotre", "store")):
        expected = any(a[:i] + a[i + 1] + a[i] + a[i + 2 :] == b for i in range(len(a) - 1)) and a != b
        check(_is_swap, a, b, gives=expected, why="two neighbouring letters change places")


def test_letters_that_are_not_neighbours(_is_swap: Learner) -> None:
    check(_is_swap, "abc", "cba", gives=False, why="a and c are not neighbours")
    check(_is_swap, "abcd", "badc", gives=False, why="two swaps are not one")
    check(_is_swap, "rows", "wosr", gives=False, why="more than two places differ")


def test_other_letters(_is_swap: Learner) -> None:
    check(_is_swap, "cat", "cut", gives=False, why="one letter is another, none changed places")
    check(_is_swap, "cat", "cbu", gives=False, why="two neighbours differ, but they are not each other's letters")
    check(_is_swap, "same", "same", gives=False, why="nothing changed places")


def test_other_lengths(_is_swap: Learner) -> None:
    check(_is_swap, "ab", "bac", gives=False, why="one is longer")
    check(_is_swap, "abc", "ba", gives=False, why="one is shorter")
    check(_is_swap, "", "", gives=False, why="nothing changed places")


# --- declarations -----------------------------------------------------------------------------------


def test_names_of_one_block(declarations: Learner) -> None:
    names = declarations.via("declared")
    check(
        names, "let a = 1; var b = 2; a = 3;", gives=["a", "b"], why="`let` and `var` declare, an assignment does not"
    )
    check(names, "let a, b = f(x);", gives=["a", "b"], why="one `let` may declare several names")
    check(names, "", gives=[], why="an empty block declares nothing")


def test_names_in_inner_blocks(declarations: Learner) -> None:
    names = declarations.via("declared")
    check(names, "for k in range(8) { let a = k; }", gives=["a"], why="a loop's body counts, its variable does not")
    check(names, "while c { var a = 1; }", gives=["a"], why="the body of a `while` counts")
    check(names, "if c { let a = 1; } else { let b = 2; }", gives=["a", "b"], why="both sides of an `if` count")
    check(names, "if c { let a = 1; }", gives=["a"], why="an `if` need not have an `else`")


def test_blocks_in_blocks(declarations: Learner) -> None:
    loop = "for k in range(8) { let b = 1; while c { let d = 1; } }"
    text = f"let a = 1; if c {{ {loop} }} else if c {{ let e = 1; }} let f = 1;"
    check(declarations.via("declared"), text, gives=["a", "b", "d", "e", "f"], why="blocks in blocks count too")


def test_deep_blocks(declarations: Learner) -> None:
    depth = 150
    text = "".join(f"if c {{ let v{i} = 1; " for i in range(depth)) + "}" * depth
    expected = [f"v{i}" for i in range(depth)]
    check(declarations.via("declared"), text, gives=expected, why=f"{depth} blocks inside each other")


# --- nearest ----------------------------------------------------------------------------------------


def test_the_order_of_preference(nearest: Learner) -> None:
    check(nearest, "Sum", ["sun", "sum"], gives="sum", why="first comes the same word in other capitals")
    check(nearest, "programid", ["programs", "program_id"], gives="program_id", why="then the same without underscores")
    check(nearest, "cac", ["cab", "acc"], gives="acc", why="then two neighbouring letters swapped")
    check(nearest, "maximun", ["minimum", "maximum"], gives="maximum", why="then the closest")
    check(nearest, "AB", ["ba", "ab"], gives="ab", why="capitals come before swaps")
    check(nearest, "ab", ["ba", "AB"], gives="AB", why="capitals come before swaps")
    check(nearest, "a_b", ["A_B", "ab"], gives="A_B", why="capitals come before underscores")


def test_the_name_itself_is_no_near_miss(nearest: Learner) -> None:
    check(nearest, "sum", ["sum", "sun"], gives="sun", why="the name itself is no near miss")
    check(nearest, "sum", ["sum"], gives=None, why="the name itself is no near miss")


def test_nothing_near(nearest: Learner) -> None:
    check(nearest, "zebra", ["sum", "max"], gives=None, why="nothing is close")
    check(nearest, "sum", [], gives=None, why="there are no candidates")
    check(nearest, "", ["a"], gives=None, why="an empty name is near to nothing")
    check(nearest, "_", ["", "__"], gives="__", why="empty candidates do not count")


def test_very_long_names(nearest: Learner) -> None:
    long = "x" * (LONGEST_NAME + 1)
    check(nearest, long, [long.upper()], gives=None, why="a name this long is no slip of the pen")
    check(nearest, long, [long[1:]], gives=None, why="a name this long is no slip of the pen")
    check(
        nearest, "x" * LONGEST_NAME, ["X" * LONGEST_NAME], gives="X" * LONGEST_NAME, why="this one is just short enough"
    )
    check(nearest, "xxx", [long, "xxy"], gives="xxy", why="long candidates do not count")


def test_ties_go_to_the_first(nearest: Learner) -> None:
    rng = fresh()
    names = ["Row", "ROW", "roW", "rOw"]
    for _ in range(6):
        rng.shuffle(names)
        check(nearest, "row", list(names), gives="ROW", why="of equally good ones the one that sorts first")


# --- declare ----------------------------------------------------------------------------------------


def _kernel(body: str) -> str:
    return f"kernel k(x: f32[N], out y: f32[N]) grid (1) {{\n{body}\n}}\n"


def test_new_names_are_no_mistake(declare: Learner) -> None:
    reports = declare.via("resolved")
    check(reports, _kernel("let a = 1;\nlet b = a;\ny[a] = x[b];"), gives=[], why="every name is new")
    check(
        reports,
        _kernel("if x[0] > 0.0 { let a = 1; y[a] = 0.0; }\nif x[1] > 0.0 { let a = 2; y[a] = 0.0; }"),
        gives=[],
        why="two blocks side by side may use the same name",
    )


def test_hiding_is_a_mistake(declare: Learner) -> None:
    reports = declare.via("resolved")
    check(
        reports,
        _kernel("let a = 1;\nif x[0] > 0.0 { let a = 2; y[a] = 0.0; }"),
        gives=["E0204 at 3:21"],
        why="the inner name hides the outer one",
    )
    check(reports, _kernel("let x = 1;\ny[x] = 0.0;"), gives=["E0204 at 2:5"], why="it hides a parameter")
    check(reports, _kernel("for N in range(8) { y[N] = 0.0; }"), gives=["E0204 at 2:5"], why="it hides a dim")


def test_twice_in_one_scope(declare: Learner) -> None:
    reports = declare.via("resolved")
    check(
        reports,
        _kernel("let a = 1;\nlet a = 2;\ny[a] = 0.0;"),
        gives=["E0203 at 3:5"],
        why="declared twice in one block",
    )


def test_no_warning_follows_the_error(declare: Learner) -> None:
    reports = declare.via("resolved")
    check(
        reports,
        _kernel("let a = 1;\nlet a = 2;"),
        gives=["E0203 at 3:5"],
        why="both definitions count as used: no W0101 beside the error",
    )


def test_underscores_are_thrown_away(declare: Learner) -> None:
    reports = declare.via("resolved")
    check(
        reports,
        _kernel("let _ = 1;\nlet _ = 2;\ny[0] = 0.0;"),
        gives=[],
        why="`_` may be declared as often as one likes",
    )
    check(
        reports,
        _kernel("let _ = 1;\ny[_] = 0.0;"),
        gives=["E0201 at 3:3"],
        why="`_` goes into no scope: it cannot be read",
    )


def test_the_new_one_counts_afterwards(declare: Learner) -> None:
    check(
        declare.via("meaning_after"),
        gives=["vars: 2", "noted: yes", "role: loop variable", "`_`: let"],
        why="after a second declaration the name means the second one, which stands in meanings; "
        "the definition is given back, that of `_` too",
    )


# --- report_recursion -------------------------------------------------------------------------------


def _fns(**bodies: str) -> str:
    return "\n".join(f"fn {name}(v) {{ return {body}; }}" for name, body in bodies.items())


def test_callees_come_before_callers(report_recursion: Learner) -> None:
    graph = report_recursion.via("recursion")
    check(graph, _fns(a="v + 1", b="a(v)", c="b(v) + a(v)"), gives=(["a", "b", "c"], [], []), why="callees first")
    check(
        graph,
        _fns(c="b(v) + a(v)", b="a(v)", a="v"),
        gives=(["a", "b", "c"], [], []),
        why="callees first, wherever they stand",
    )
    check(graph, _fns(a="v", b="v"), gives=(["a", "b"], [], []), why="without calls the order of the text stays")


def test_a_fn_that_calls_itself(report_recursion: Learner) -> None:
    expected = (["f"], ["f"], ["`f` calls itself"])
    check(report_recursion.via("recursion"), _fns(f="f(v - 1)"), gives=expected, why="a cycle of one")


def test_cycles_are_named_from_where_they_begin(report_recursion: Learner) -> None:
    graph = report_recursion.via("recursion")
    expected = (["c", "b", "a"], ["a", "b", "c"], ["these fns call each other: a → b → c → a"])
    check(graph, _fns(a="b(v)", b="c(v)", c="a(v)"), gives=expected, why="the cycle is a → b → c → a")
    expected = (["c", "b", "a"], ["a", "b", "c"], ["these fns call each other: b → c → b"])
    check(
        graph,
        _fns(a="b(v)", b="c(v)", c="b(v)"),
        gives=expected,
        why="a is not part of the cycle, but calls one that is",
    )


def test_two_ways_to_one_fn_are_no_cycle(report_recursion: Learner) -> None:
    expected = (["d", "b", "c", "a"], [], [])
    check(
        report_recursion.via("recursion"),
        _fns(a="b(v) + c(v)", b="d(v)", c="d(v)", d="v"),
        gives=expected,
        why="d is reached twice, and nothing goes round in a circle",
    )


def test_every_cycle_is_reported_once(report_recursion: Learner) -> None:
    graph = report_recursion.via("recursion")
    found = ["`a` calls itself", "these fns call each other: b → c → b"]
    check(
        graph,
        _fns(a="a(v)", b="c(v)", c="b(v)", d="v"),
        gives=(["a", "c", "b", "d"], ["a", "b", "c"], found),
        why="two cycles, each once; d is innocent",
    )
    expected = (
        ["c", "b", "a"],
        ["a", "b", "c"],
        ["these fns call each other: a → b → a", "these fns call each other: b → c → b"],
    )
    check(graph, _fns(a="b(v)", b="a(v) + c(v)", c="b(v)"), gives=expected, why="two cycles that share a fn")


def test_a_long_chain_of_fns(report_recursion: Learner) -> None:
    count = 1500
    bodies = {f"f{i}": f"f{i + 1}(v)" for i in range(count)}
    program = _fns(**bodies, **{f"f{count}": "v"})
    expected = ([f"f{i}" for i in range(count, -1, -1)], [], [])
    check(
        report_recursion.via("recursion"),
        program,
        gives=expected,
        why="1500 fns in a row: no recursion in your own code",
    )
