"""The dumps of tokens, parse tree and AST."""

from __future__ import annotations

from tilelang.diagnostics import Sink, Source
from tilelang.syntax.grammar import grammar_path
from tilelang.syntax.lexing import lex
from tilelang.syntax.parsing import parse, parse_tree
from tilelang.syntax.printing import show_ast, show_tokens, show_tree

SOURCE = Source("const A = 1 +\n  f(b, c=2.5);\n")


def test_tokens() -> None:
    assert show_tokens(lex(SOURCE, Sink())[:5], SOURCE) == (
        "1:1      keyword  const\n"
        "1:7      name     A\n"
        "1:9      symbol   =\n"
        "1:11     int      1\n"
        "1:13     symbol   +\n"
    )


def test_tree() -> None:
    assert (
        show_tree(parse_tree(SOURCE, Sink()))
        == """\
start
  const_def
    NAME `A`
    binary
      integer
        INT `1`
      sum_op
        `+`
      call
        NAME `f`
        name
          NAME `b`
        keyword
          NAME `c`
          real
            FLOAT `2.5`
"""
    )


def test_ast() -> None:
    assert (
        show_ast(parse(SOURCE, Sink()), SOURCE)
        == """\
Module  @1:1
  items:
    ConstDef name=A  @1:1
      value: Binary op='+'  @1:11
        left: IntLit value=1  @1:11
        right: Call func=f  @2:3
          args:
            Name text='b'  @2:5
          keywords:
            Keyword name=c  @2:8
              value: FloatLit value=2.5  @2:10
"""
    )
    assert "@" not in show_ast(parse(SOURCE, Sink()))


def test_empty() -> None:
    assert show_tokens([], SOURCE) == ""
    assert show_ast(parse(Source(""), Sink())) == "Module\n"


def test_the_grammar_is_found() -> None:
    assert grammar_path().read_text(encoding="utf-8").startswith("// The grammar of the tile language")
