"""Chapter 5."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "look_up": Proof(
        (
            change("from the outside in", "reversed(scopes)", "scopes", r"innermost scope"),
            change("the innermost only", "reversed(scopes)", "scopes[-1:]", r"decides"),
            change("the outermost left out", "reversed(scopes)", "reversed(scopes[1:])", r"decides"),
            change("an error", "return None", "raise KeyError(name)", r"KeyError"),
            change("the scope itself", "return scope.names[name]", "return scope.names", r"expected"),
        ),
        (
            """
def look_up(scopes, name):
    return next((s.names[name] for s in reversed(scopes) if name in s.names), None)
""",
            """
from collections import ChainMap


def look_up(scopes, name):
    return ChainMap(*(scope.names for scope in scopes[::-1])).get(name)
""",
        ),
    ),
    "_is_swap": Proof(
        (
            change("not neighbours", "j == i + 1 and ", "", r"not neighbours"),
            change("other letters", " and a[i] == b[j] and a[j] == b[i]", "", r"each other's letters"),
            change(
                "any two of the same letters",
                "    places = [i for i in range(len(a)) if a[i] != b[i]]\n",
                "    return a != b and sorted(a) == sorted(b)\n    places = []\n",
                r"not neighbours|two swaps",
            ),
            change(
                "equal words too",
                "    if len(places) != 2:\n        return False\n",
                "    if not places:\n        return True\n    if len(places) != 2:\n        return False\n",
                r"nothing changed",
            ),
            change(
                "lengths ignored", "    if len(a) != len(b):\n        return False\n", "", r"IndexError|longer|shorter"
            ),
        ),
        (
            """
def _is_swap(a, b):
    return a != b and any(a[:i] + a[i + 1] + a[i] + a[i + 2 :] == b for i in range(len(a) - 1))
""",
            """
def _is_swap(a, b):
    if sorted(a) != sorted(b):
        return False
    differ = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
    return len(differ) == 2 and differ[1] - differ[0] == 1
""",
        ),
    ),
    "declarations": Proof(
        (
            change("this block only", "todo += body.body", "pass", r"body counts|body of a"),
            change("no else", " + (orelse.body if orelse is not None else ())", "", r"both sides"),
            change(
                "there is always an else", "orelse.body if orelse is not None else ()", "orelse.body", r"AttributeError"
            ),
            change("while forgotten", " | ast.While(body=body)", "", r"`while`"),
            change("the first name only", "yield from names", "yield names[0]", r"several names"),
            text(
                "recursive",
                """
def declarations(block):
    for stmt in block.body:
        if isinstance(stmt, ast.Let):
            yield from stmt.names
        for inner in (getattr(stmt, n, None) for n in ('body', 'then')):
            if inner is not None:
                yield from declarations(inner)
""",
                r"both sides|else",
            ),
            change(
                "the loop's variable too",
                "case ast.For(body=body) | ast.While(body=body):",
                "case ast.For(body=body, var=var):\n                yield var\n                todo += body.body\n            case ast.While(body=body):",
                r"its variable does not",
            ),
        ),
        (
            """
def declarations(block):
    blocks, found = [block], []
    while blocks:
        for stmt in blocks.pop().body:
            found += stmt.names if isinstance(stmt, ast.Let) else ()
            for field in ("body", "then", "orelse"):
                inner = getattr(stmt, field, None)
                if inner is not None:
                    blocks.append(inner)
    return iter(found)
""",
            """
def declarations(block):
    for stmt in block.body:
        if isinstance(stmt, ast.Let):
            yield from stmt.names
        elif isinstance(stmt, (ast.For, ast.While)):
            yield from declarations(stmt.body)
        elif isinstance(stmt, ast.If):
            yield from declarations(stmt.then)
            if stmt.orelse is not None:
                yield from declarations(stmt.orelse)
""",
        ),
    ),
    "nearest": Proof(
        (
            change(
                "the closest alone",
                "        _first(known, lambda c: c.lower() == name.lower())\n        or _first(known, lambda c: _squeezed(c) == _squeezed(name))\n        or _first(known, lambda c: _is_swap(c, name))\n        or _closest",
                "        _closest",
                r"capitals|underscores|swap",
            ),
            change("swaps forgotten", "        or _first(known, lambda c: _is_swap(c, name))\n", "", r"swapped"),
            change(
                "swaps first",
                "        _first(known, lambda c: c.lower() == name.lower())\n",
                "        _first(known, lambda c: _is_swap(c, name))\n        or _first(known, lambda c: c.lower() == name.lower())\n",
                r"before swaps|capitals",
            ),
            change("the name itself", " - {name}", "", r"the name itself"),
            change(
                "not sorted",
                "sorted({c for c in candidates if c and len(c) <= LONGEST_NAME} - {name})",
                "[c for c in candidates if c and len(c) <= LONGEST_NAME and c != name]",
                r"sorts first",
            ),
            change("empty candidates", "if c and len(c)", "if len(c)", r"empty candidates"),
            change(
                "any length",
                "    if not name or len(name) > LONGEST_NAME:\n        return None\n",
                "",
                r"slip of the pen",
            ),
            change(
                "the limit itself refused", "len(name) > LONGEST_NAME", "len(name) >= LONGEST_NAME", r"short enough"
            ),
        ),
        (
            """
def nearest(name, candidates):
    if not 0 < len(name) <= LONGEST_NAME:
        return None
    known = sorted(set(c for c in candidates if 0 < len(c) <= LONGEST_NAME and c != name))
    for matches in (
        lambda c: c.casefold() == name.casefold(),
        lambda c: _squeezed(c) == _squeezed(name),
        lambda c: _is_swap(name, c),
    ):
        found = [c for c in known if matches(c)]
        if found:
            return found[0]
    return _closest(name, known)
""",
            """
def nearest(name, candidates):
    known = sorted({c for c in candidates if c != name and c != "" and len(c) <= LONGEST_NAME})
    if name == "" or len(name) > LONGEST_NAME:
        return None

    def distance(c):
        return 0 if c.lower() == name.lower() else 1 if _squeezed(c) == _squeezed(name) else 2 if _is_swap(c, name) else 3

    best = min(known, key=distance, default=None)
    return best if best is not None and distance(best) < 3 else _closest(name, known)
""",
        ),
    ),
    "declare": Proof(
        (
            change(
                "nothing for `_`",
                'if ident.text == "_":\n        return definition',
                'if ident.text == "_":\n        return None',
                "that of `_` too",
            ),
            change(
                "hiding allowed",
                "before = self.look_up(ident.text)",
                "before = self.scopes[-1].names.get(ident.text)",
                r"hides the outer|hides",
            ),
            change("never reported", "if before is not None:", "if False:", r"hides|declared twice"),
            change(
                "always in the same scope",
                "ident.text in self.scopes[-1].names, self.sink",
                "True, self.sink",
                r"hides",
            ),
            change("warnings after the error", "        self._used |= {before, definition}\n", "", r"W0101"),
            text(
                "warnings after the error 2",
                """
def declare(self, role, ident):
    definition = Definition(role, ident.text, ident.span)
    self.meanings[id(ident)] = definition
    if ident.text == '_':
        return definition
    before = self.look_up(ident.text)
    if before is not None:
        name_errors.redeclared(ident, before, ident.text in self.scopes[-1].names, self.sink)
        self._used.add(before)
    self.scopes[-1].names[ident.text] = definition
    return definition
""",
                r"no W0101",
            ),
            change("underscores stay", 'if ident.text == "_":', "if False:", r"as often as one likes"),
            change(
                "the first one stays",
                "self.scopes[-1].names[ident.text] = definition\n",
                "self.scopes[-1].names.setdefault(ident.text, definition)\n",
                r"means the second|no W0101",
            ),
            change("not noted", "self.meanings[id(ident)] = definition\n", "pass\n", r"stands in meanings|KeyError"),
            change(
                "into the outermost scope",
                "self.scopes[-1].names[ident.text] = definition",
                "self.scopes[0].names[ident.text] = definition",
                r"hides|side by side|means|found",
            ),
        ),
        (
            """
def declare(self, role, ident):
    made = self.meanings[id(ident)] = Definition(role, ident.text, ident.span)
    if ident.text != "_":
        innermost = self.scopes[-1].names
        before = innermost.get(ident.text) or self.look_up(ident.text)
        if before:
            name_errors.redeclared(ident, before, ident.text in innermost, self.sink)
            self._used.update((before, made))
        innermost[ident.text] = made
    return made
""",
            """
def declare(self, role, ident):
    definition = Definition(role, ident.text, ident.span)
    self.meanings.update({id(ident): definition})
    if definition.name == "_":
        return definition
    hidden = [s.names[ident.text] for s in self.scopes if ident.text in s.names]
    if hidden:
        same = hidden[-1] is self.scopes[-1].names.get(ident.text)
        name_errors.redeclared(ident, hidden[-1], same, self.sink)
        self._used = self._used | {hidden[-1], definition}
    self.scopes[-1].names[ident.text] = definition
    return definition
""",
        ),
    ),
    "report_recursion": Proof(
        (
            change("callers first", "order.append(name)", "order.insert(0, name)", r"callees first|order of the text"),
            change(
                "the whole path is the cycle",
                "path[path.index(call.func.text) :]",
                "path",
                r"not part of the cycle|innocent|goes",
            ),
            change(
                "callers of recursive ones are innocent",
                "                if any(c.func.text in recursive for c in calls.get(name, ())):\n                    recursive.add(name)\n",
                "",
                r"calls one that is",
            ),
            change(
                "two ways are a cycle",
                "elif call.func.text not in done:",
                "elif call.func.text in done:\n                _report([call.func.text], call, fns, sink)\n            else:",
                r"nothing goes round|callees first",
            ),
            change("not reported", "                _report(cycle, call, fns, sink)\n", "", r"cycle"),
            text(
                "recursive",
                """
def report_recursion(fns, calls, sink):
    order, recursive, path = [], set(), []

    def visit(name):
        if name in path:
            cycle = path[path.index(name):]
            recursive.update(cycle)
            return _report(cycle, last[0], fns, sink)
        if name in order:
            return None
        path.append(name)
        for call in calls[name]:
            last[:] = [call]
            visit(call.func.text)
        path.pop()
        order.append(name)
        if any(c.func.text in recursive for c in calls[name]):
            recursive.add(name)

    last = [None]
    for name in fns:
        visit(name)
    return tuple(order), frozenset(recursive)
""",
                r"RecursionError",
            ),
            change(
                "the first fn only",
                "    for root in fns:\n",
                "    for root in list(fns)[:1]:\n",
                r"callees first|order of the text",
            ),
        ),
        (
            """
WHITE, GREY, BLACK = range(3)


def report_recursion(fns, calls, sink):
    colour = dict.fromkeys(fns, WHITE)
    order, recursive = [], set()
    for root in fns:
        if colour[root] is not WHITE:
            continue
        colour[root] = GREY
        stack = [(root, list(calls.get(root, ())))]
        while stack:
            name, left = stack[-1]
            if not left:
                stack.pop()
                colour[name] = BLACK
                order.append(name)
                if recursive & {c.func.text for c in calls.get(name, ())}:
                    recursive.add(name)
                continue
            call = left.pop(0)
            callee = call.func.text
            if colour[callee] is GREY:
                names = [n for n, _ in stack]
                cycle = names[names.index(callee) :]
                recursive |= set(cycle)
                _report(cycle, call, fns, sink)
            elif colour[callee] is WHITE:
                colour[callee] = GREY
                stack.append((callee, list(calls.get(callee, ()))))
    return tuple(order), frozenset(recursive)
""",
            """
def report_recursion(fns, calls, sink):
    order = {}
    recursive = set()
    for root in fns:
        path, todo = [], [("enter", root, None)]
        while todo:
            what, name, call = todo.pop()
            if what == "leave":
                path.pop()
                order[name] = True
                if any(c.func.text in recursive for c in calls.get(name, ())):
                    recursive.add(name)
            elif name in path:
                cycle = path[path.index(name) :]
                recursive.update(cycle)
                _report(cycle, call, fns, sink)
            elif name not in order:
                path.append(name)
                todo.append(("leave", name, None))
                todo += [("enter", c.func.text, c) for c in reversed(calls.get(name, ()))]
    return tuple(order), frozenset(recursive)
""",
        ),
    ),
}
