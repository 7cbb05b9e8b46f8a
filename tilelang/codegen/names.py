"""Names for generated Python: from the kernel's names, safe whatever those are.

A `.tile` author may call a variable `max`, `range`, `lambda` or `cuda`. Generated code must not change its meaning
for that, so every name is mangled to a plain identifier that is no keyword, no builtin, and nothing the
generated module uses itself.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tilelang.diagnostics import Source, Span

RESERVED = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins)))


class Names:
    """Gives each key a Python identifier of its own, or one whose last owner is out of scope."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = {*RESERVED, *taken}
        self._of: dict[object, str] = {}
        self._free: dict[tuple[str, object], list[str]] = {}
        self._scopes: list[list[tuple[tuple[str, object], str]]] = [[]]

    def name(self, key: object, wished: str) -> str:
        """The identifier of `key`: like `wished`, where that is free."""
        if key not in self._of:
            self._of[key] = self._fresh(wished)
        return self._of[key]

    def scoped(self, key: object, wished: str, kind: object) -> str:
        """Like `name`, for a key that is not used after the current scope: then its name serves again.

        Only for keys of the same `wished` and `kind` (the type): numba wants one type for one variable.
        """
        if key not in self._of:
            free = self._free.get((wished, kind), [])
            self._of[key] = free.pop(0) if free else self._fresh(wished)
            self._scopes[-1].append(((wished, kind), self._of[key]))
        return self._of[key]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names given inside by `scoped` are free again afterwards."""
        self._scopes.append([])
        yield
        for pool, name in self._scopes.pop():
            self._free.setdefault(pool, []).append(name)

    def alias(self, key: object, other: object) -> None:
        """`key` is another name for what `other` names."""
        self._of[key] = self._of[other]

    def fix(self, key: object, name: str) -> None:
        """`key` has exactly this name, one that was taken out of circulation before."""
        self._of[key] = name

    def _fresh(self, wished: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_]", "_", wished)
        if not base or base[0].isdigit() or base.startswith("__"):
            base = "v" + base
        candidate, number = base, 0
        while candidate in self._taken:
            number += 1
            candidate = f"{base}_" if number == 1 else f"{base}_{number}"
        self._taken.add(candidate)
        return candidate


def comment_of(source: Source, span: Span) -> str:
    """`# 12: let v = x[i];`: the first source line of a span, with nothing in it that could end the comment."""
    line, _ = source.position(span.start)
    return f"# {line}: {printable(source.line(line).strip())}"


def printable(text: str) -> str:
    """The text with everything that is not printable (line ends above all) written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
