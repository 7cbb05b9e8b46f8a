"""`tilec explain CODE`: the catalogue's page of an error or warning."""

from __future__ import annotations

import re
import sys

import click

from tilelang.cli.faults import OK, USAGE, Fault
from tilelang.cli.terminal import is_terminal


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """Explain an error or warning: what the rule is, a program that breaks it, and the program put right.

    CODE is the word in brackets in a message, such as E0312. Without it, all codes are listed.
    """
    from tilelang.catalogue import page

    if code is None:
        _list_codes()
        return OK
    try:
        text = page(_code_in(code)).text
    except KeyError:
        raise _unknown(code) from None
    if is_terminal(sys.stdout):
        from rich.console import Console
        from rich.markdown import Markdown

        Console(width=min(100, Console().width)).print(Markdown(text))
    else:
        click.echo(text, nl=not text.endswith("\n"))
    return OK


def _list_codes() -> None:
    from tilelang.catalogue import codes, page

    for code in codes():
        click.echo(f"{code}  {page(code).title}")


def _code_in(word: str) -> str:
    """`e0312` and `error[E0312]:` as `E0312`; anything else as it is."""
    match = re.fullmatch(r"(?:error|warning)?\[?([EW]\d{4})\]?:?", word, flags=re.IGNORECASE)
    return match.group(1).upper() if match else word


def _unknown(word: str) -> Fault:
    from tilelang.catalogue import nearest_codes, page

    near = nearest_codes(word)
    help = "did you mean " + ", or ".join(f"{c} ({page(c).title})" for c in near[:3]) + "?" if near else ""
    notes = ("`tilec explain` without a code lists them all",)
    return Fault("E0706", f"there is no code `{word}`", notes=notes, help=help, status=USAGE)
