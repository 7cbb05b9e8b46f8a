"""How a notebook shows what the compiler's stages hand on. The stages themselves know nothing of pictures."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from tilelang.diagnostics import Sink, Source
from tilelang.driver import Compilation
from tilelang.ir.core import Kernel
from tilelang.ir.printer import print_kernel
from tilelang.machine.profile import Profile
from tilelang.notebook.drawings import draw_layout, draw_profile
from tilelang.notebook.linked import TITLES, linked
from tilelang.notebook.svg import GROUND, INK, MONO, Picture
from tilelang.runtime.program import Program
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.patch_layout import PatchLayout

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.lib.pretty import RepresentationPrinter

COLOURS = {"keyword": "#7e3fa3", "int": "#2f6fb0", "float": "#2f6fb0", "string": "#3c8a34", "comment": "#667788"}


def install(shell: InteractiveShell) -> None:
    """Tell a shell how to show programs, kernels at any level, compilations, layouts and profiles."""
    if shell.display_formatter is None:
        return  # a shell that shows nothing
    formatters = shell.display_formatter.formatters
    formatters["text/plain"].for_type(Kernel, _kernel_text)
    formatters["text/html"].for_type(Program, program_html)
    pictures: tuple[tuple[type, Callable[..., Picture]], ...] = (
        (Compilation, draw_compilation), (Profile, draw_profile),
        *((layout, draw_layout) for layout in (LinearLayout, AccumulatorLayout, PatchLayout)))
    for kind, draw in pictures:
        formatters["image/svg+xml"].for_type(kind, _as_svg(draw))
        formatters["text/plain"].for_type(kind, _as_words(draw))


def _as_svg(draw: Callable[..., Picture]) -> Callable[[object], str]:
    return lambda value: draw(value)._repr_svg_()


def _as_words(draw: Callable[..., Picture]) -> Callable[[object, RepresentationPrinter, bool], None]:
    """Where no picture can be shown, what it would show."""
    return lambda value, printer, cycle: printer.text(repr(draw(value)))


def _kernel_text(kernel: Kernel, printer: RepresentationPrinter, cycle: bool) -> None:
    for number, line in enumerate(print_kernel(kernel).rstrip("\n").split("\n")):
        if number:
            printer.break_()
        printer.text(line)


def draw_compilation(compilation: Compilation) -> Picture:
    """The source beside the optimised IR and the code, of what has been made."""
    made = [stage for stage in ("optimized", "cuda", "cpu") if getattr(compilation, stage) is not None]
    stages = [stage for stage in TITLES if stage in made] or ["tile_ir"]
    return linked(compilation, *stages[:2])


def program_html(program: Program) -> str:
    """The program's text with coloured words, in HTML that needs no style sheet."""
    style = f"font-family:{MONO};font-size:13px;line-height:1.4;background:{GROUND};color:{INK};padding:8px 12px"
    return f'<pre style="{escape(style)}">{highlighted(program.source)}</pre>'


def highlighted(source: Source) -> str:
    """HTML of a `.tile` text; what is not a program is shown as it is."""
    from tilelang.syntax.lexing import lex

    parts, at = [], 0
    for token in lex(source, Sink(), keep_comments=True):
        start, end = token.span.start, token.span.end
        parts.append(escape(source.text[at:start]))
        word, colour = escape(source.text[start:end]), COLOURS.get(token.kind)
        parts.append(f'<span style="color:{colour}">{word}</span>' if colour else word)
        at = end
    return "".join(parts) + escape(source.text[at:])
