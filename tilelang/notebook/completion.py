"""Tab in a `%%tile` cell: keywords, built-in functions, element types, and the names that stand in the cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

MAGIC = "%%tile"
WORD = re.compile(r"[A-Za-z_]\w*")
CONSTANTS = ("inf", "nan", "pi")


def install(shell: InteractiveShell) -> None:
    """Add the completions to a shell's own."""
    from IPython.core.completer import context_matcher

    @context_matcher(identifier="tilelang.notebook")
    def tile_names(context: CompletionContext) -> SimpleMatcherResult:
        from IPython.core.completer import SimpleCompletion

        found = complete(context.full_text, context.token)
        words = [SimpleCompletion(text=name, type=kind) for name, kind in found]
        return {"completions": words, "suppress": bool(found)}

    completer = shell.Completer
    if completer is not None:  # a shell without a keyboard has none
        completer.custom_matchers.append(tile_names)


def complete(cell: str, token: str) -> list[tuple[str, str]]:
    """(name, kind) of what the token at the cursor may become; nothing outside a `%%tile` cell or on its first line.

    >>> complete("%%tile\\nlet total = su", "su")
    [('sum', 'function')]
    """
    if not cell.lstrip().startswith(MAGIC) or "\n" not in cell:
        return []
    beginning = re.search(r"[A-Za-z_]\w*$", token)
    if beginning is None:
        return []
    start = beginning.group()
    return [(token[: beginning.start()] + name, kind) for name, kind in _known(cell) if _fits(name, start)]


def _fits(name: str, start: str) -> bool:
    return name.startswith(start) and name != start


def _known(cell: str) -> list[tuple[str, str]]:
    from tilelang.dtypes import DTYPES
    from tilelang.semantics.builtins import BUILTINS
    from tilelang.syntax.grammar import terminal_names

    keywords = [text for text in terminal_names() if text.isalpha()]
    kinds = {name: "instance" for name in _names(cell)}
    kinds |= {name: "instance" for name in CONSTANTS} | {name: "class" for name in DTYPES}
    kinds |= {name: "keyword" for name in keywords} | {name: "function" for name in BUILTINS}
    return sorted(kinds.items())


def _names(cell: str) -> set[str]:
    """Every word of the program, but not of its comments and strings."""
    program = cell.lstrip().partition("\n")[2]
    return set(WORD.findall(re.sub(r'#[^\n]*|"[^"\n]*"', " ", program)))
