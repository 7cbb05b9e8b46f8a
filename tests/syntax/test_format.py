"""The formatter: golden layouts, and that it never changes a program."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.syntax.helpers import KERNEL, MATMUL, SOFTMAX, parsed, same
from tilelang.diagnostics import Sink, Source
from tilelang.syntax.format import format_source
from tilelang.syntax.layout import WIDTH
from tilelang.syntax.lexing import lex
from tilelang.syntax.parsing import parse

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*.tile"))


def formatted(text: str) -> str:
    sink = Sink()
    result = format_source(Source(text), sink)
    assert sink.diagnostics == []
    return result


def comments(text: str) -> Counter[str]:
    return Counter(
        t.text.rstrip() for t in lex(Source(text), Sink(), keep_comments=True) if t.kind == "comment"
    )


def check_properties(text: str) -> None:
    """Idempotent; same AST; same comments; no blanks at line ends; one line end at the end."""
    once = formatted(text)
    assert formatted(once) == once
    assert same(parse(Source(once), Sink()), parse(Source(text), Sink()))
    assert comments(once) == comments(text)
    for line in once.replace("\r\n", "\n").split("\n"):
        assert line == line.rstrip()
    assert once == "" or once.endswith("\n")
    assert "\n\n\n" not in once


@pytest.mark.parametrize("text", [SOFTMAX, MATMUL])
def test_examples_are_in_the_standard_layout(text: str) -> None:
    assert formatted(text) == text


@pytest.mark.parametrize("text", [SOFTMAX, MATMUL])
def test_examples_are_restored_from_one_line(text: str) -> None:
    bare = "".join(line.split("#")[0] + " " for line in text.splitlines())
    without_comments = "".join(
        line.split("#")[0].rstrip() + "\n" for line in text.splitlines() if line[0] != "#"
    )
    assert formatted(" ".join(bare.split())) == without_comments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=-b;", "a = -b;"),
        ("a=b- -1;", "a = b - -1;"),
        ("a=- ( b+c )*~d;", "a = -(b + c) * ~d;"),
        ("a=f ( b,axis = 0 , c=-1 );", "a = f(b, axis=0, c=-1);"),
        ("y[ i , j ]=x [ [i,j] ]where m  else-1;", None),
        ("y[i]=(x[[i,j]]where m  else-1)where(k);", "y[i] = (x[[i, j]] where m else -1) where (k);"),
        ("a=v[ : ,None ]+v[None,:];", "a = v[:, None] + v[None, :];"),
        ("a=[ ];", "a = [];"),
        ("a=i*4+:4;", "a = i * 4 +: 4;"),
        ("a=b as f32*c;", "a = b as f32 * c;"),
        ("a=not(b)and not c;", "a = not (b) and not c;"),
        ("a//=b ;", "a //= b;"),
        ("a , b=f(x);", "a, b = f(x);"),
        ('print( "a  b",x ) ;', 'print("a  b", x);'),
        ("return ;", "return;"),
        ("return(a);", "return (a);"),
        ("return-a;", "return -a;"),
        ("return[a];", "return [a];"),
        ("if(a){}else if b{}else{}", "if (a) {} else if b {} else {}"),
        ("while a{ }", "while a {}"),
        ("for k in range( 3 ){f(k);}", "for k in range(3) {\n        f(k);\n    }"),
        ("if a{b=1;}else{b=2;}", "if a {\n        b = 1;\n    } else {\n        b = 2;\n    }"),
        ("a = f(b,);", "a = f(b,);"),
    ],
)
def test_blanks(text: str, expected: str | None) -> None:
    if expected is None:  # ambiguous program: left alone, with its error
        sink = Sink()
        assert format_source(Source(KERNEL.format(text)), sink) == KERNEL.format(text)
        assert [d.code for d in sink.diagnostics] == ["E0108"]
        return
    assert formatted(KERNEL.format(text)) == KERNEL.format(expected)


def test_items() -> None:
    text = "const   A=1;fn f( a ,b:f32 ){ return  a; }"
    text += "kernel k [ A=1,B:{1,2}=2 ] ( x:f32[ N,2*N ],out y : T [N] )grid( 1 ){ }"
    assert formatted(text) == (
        "const A = 1;\nfn f(a, b: f32) {\n    return a;\n}\n"
        "kernel k[A = 1, B: {1, 2} = 2](x: f32[N, 2 * N], out y: T[N]) grid (1) {}\n"
    )


def test_blank_lines() -> None:
    text = "\n\nconst A = 1;\n\n\n\nconst B = 2;\nkernel k() grid (1) {\n\n\n  f(A);\n\n\n  f(B);\n\n}\n\n\n"
    assert formatted(text) == (
        "const A = 1;\n\nconst B = 2;\nkernel k() grid (1) {\n    f(A);\n\n    f(B);\n}\n"
    )


def test_comments_stay_where_they_belong() -> None:
    text = """\
# top

kernel k(   # head
  # first
  x: f32[N],# x
  out y: f32[N])  grid (1) {   # open
# own
  y[0] = 1;# behind
      # two
      if a { # yes
      }  # no
      # nor
      else { }
  y[1] = f(1, # one
     2);
  # last
}   # end
# bye"""
    assert (
        formatted(text)
        == """\
# top

kernel k(  # head
    # first
    x: f32[N],  # x
    out y: f32[N]) grid (1) {  # open
    # own
    y[0] = 1;  # behind
    # two
    if a {  # yes
    }  # no
    # nor
    else {}
    y[1] = f(1,  # one
        2);
    # last
}  # end
# bye
"""
    )
    check_properties(text)


def test_comment_columns() -> None:
    loose = KERNEL.format("f(1); # a\n    ff(22);    # b\n\n    f(3);         # c")
    assert formatted(loose) == KERNEL.format("f(1);    # a\n    ff(22);  # b\n\n    f(3);  # c")
    aligned = KERNEL.format("f(1);          # a\n    ff(22);        # b")
    assert formatted(aligned) == aligned


def test_values_are_aligned_in_runs() -> None:
    text = KERNEL.format("let a = 1;\n    var bbb = 2;\n    c = 3;\n    let dd = 4;\n\n    let e = 5;")
    assert formatted(text) == KERNEL.format(
        "let a   = 1;\n    var bbb = 2;\n    c = 3;\n    let dd = 4;\n\n    let e = 5;"
    )
    far = KERNEL.format("let a = 1;\n    let a_very_long_name_indeed = 2;")
    assert formatted(far) == far


def test_long_lines_are_broken() -> None:
    long_sum = " + ".join(f"f(xx, {i})" for i in range(40))
    call = "g(" + ", ".join(f"argument_number_{i}" for i in range(12)) + ")"
    masked = (
        "y[i] = " + " * ".join(["some_factor"] * 6) + " where " + " and ".join(["some_condition"] * 4) + ";"
    )
    result = formatted(KERNEL.format(f"let a = {long_sum};\n let b = {call};\n {masked}"))
    assert max(len(line) for line in result.splitlines()) <= WIDTH
    assert "        argument_number_3,\n" in result
    assert "\n        where some_condition and" in result
    check_properties(KERNEL.format(f"let a = {long_sum};\n let b = {call};\n {masked}"))


def test_long_headers() -> None:
    params = ", ".join(f"out parameter_{i}: f32[N, M]" for i in range(8))
    metas = ", ".join(f"META_{i}: {{64, 128, 256}}" for i in range(9))
    for text in (
        f"kernel k({params}) grid (N, M) {{ }}",
        f"kernel k[{metas}]({params}) grid (N, M) {{ f(1); }}",
        f"kernel {'n' * 80}[{metas}]({params}) grid (N, M) {{ }}",
        f"fn f({params.replace('out ', '').replace('[N, M]', '')}) {{ }}",
    ):
        result = formatted(text)
        assert max(len(line) for line in result.splitlines()) <= WIDTH
        check_properties(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# only\n\n\n# comments  ",
        "#!shebang\nconst A = 1;",
        "const A = 1; # last",
        'const S = "# no comment";',
        "const A = 1;\r\n\r\n\r\n# é 𝒳\r\nconst B = 2;\r\n",
        "kernel k() grid (1) { # c\n}",
        "const A # x\n = 1;",
        "kernel k() grid (1) {\n# only\n}",
        "kernel k() grid (1) { if a { } # c\n else { } }",
        "kernel k() # a\n # b\n grid # c\n (1) # d\n { # e\n }",
        "const A = f( # x\n);",
        "const A = 1; # a # b",
        "kernel k() grid (1) { if a { f(1); } # x\n}",
        "const A = 1 # a\n; # b",
        "const A = " + "(" * 150 + "1" + ")" * 150 + ";",
        "const A = " + " + ".join(["x"] * 2000) + ";",
        "const A = " + "f(a, " * 150 + "1" + ")" * 150 + ";",
        "const A = " + "- " * 150 + "1;",
        "const A = x" + " as f32" * 150 + ";",
        "kernel k() grid (1) { if a { }" + " else if a { }" * 500 + " }",
        "const A = " + "a" * 200 + " + " + "b" * 200 + ";",
        'const A = f("' + "x" * 300 + '", "' + "y" * 300 + '");',
    ],
)
def test_properties(text: str) -> None:
    check_properties(text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_properties_of_programs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    parsed(text)
    check_properties(text)


def test_line_ends_are_kept() -> None:
    crlf = SOFTMAX.replace("\n", "\r\n")
    assert formatted(crlf) == crlf


def test_a_program_with_mistakes_is_left_alone() -> None:
    text = "const   A = ;"
    sink = Sink()
    assert format_source(Source(text), sink) == text
    assert [d.code for d in sink.diagnostics] == ["E0101"]


def test_blanks_between_any_two_tokens_do_not_matter() -> None:
    for text in (SOFTMAX, MATMUL):
        tokens = lex(Source(text), Sink())
        assert (
            formatted("  \n\t ".join(t.text for t in tokens)).split()
            == formatted(" ".join(t.text for t in tokens)).split()
        )


def test_a_comment_after_any_token_is_kept() -> None:
    for text, step in ((SOFTMAX, 1), (MATMUL, 5)):
        tokens = lex(Source(text), Sink())
        for index in range(0, len(tokens), step):
            words = [t.text for t in tokens]
            words[index] += (" # note\n", "\n # note\n")[index % 2]
            check_properties(" ".join(words))
