"""The verifier accepts every op in use, and refuses each way of breaking a rule, naming op and rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tilelang.diagnostics import InternalError
from tilelang.dtypes import F32, I32, I64
from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.ir.rules import RULES, accepts
from tilelang.ir.thread_ops import THREAD_OPS
from tilelang.ir.thread_rules import THREAD_RULES
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.ir.verifier import verify
from tilelang.semantics.types import TileType

PREFIX = """\
kernel @k(%x: in f32[%M, %N], %y: inout f32[%M, %N], %z: out i32[%N], %s: f32, %h: f16) dims(%M, %N) tile {
  %i: i64 = program_id {axis = 0}
  %t: bool = const {value = true}
  %cols: i32[4] = iota
  %v: f32[4] = const {value = 1.0}
  %m: bool[4] = const {value = false}
  %a: f32[2, 3] = const {value = 1.0}
  %b: f32[3, 5] = const {value = 1.0}
  %c: f32[2, 5] = const {value = 1.0}
  %q: f32[2, 2, 3] = const {value = 1.0}
  %ab: bool[2, 3] = const {value = true}
"""
PLAIN = "pointwise = false"
THREAD_PREFIX = """\
kernel @k(%x: in f32[%M], %y: inout f32[%M], %h: in f16[%M]) dims(%M) thread {
  %o: i64 = const {value = 0}
  %j: i32 = thread_id
  %f: f32 = const {value = 1.0}
  %t: bool = const {value = true}
  %r: local f32[8] = local
  %p: shared f32[64] = shared
  %hs: shared f16[64] = shared
  %fr: local u32[8] = local
"""


def check(body: str, prefix: str = PREFIX) -> None:
    verify(parse_kernel(prefix + body + "\n}\n"))


GOOD = """
  %e1: f32[4] = add %v, %v
  %e2: bool[4] = lt %v, %v
  %e3: bool[4] = isnan %v
  %e4: f32[4] = select %m, %v, %v
  %e5: i8[4] = cast %v
  %e6: f32[4] = fma %v, %v, %v
  %e7: bool = not %t
  %ap: f32[4] = div %v, %v {approx = true}
  %ap1: f32 = exp %s {approx = true}
  %e8: bool[4] = and %m, %m
  %e9: i64[4] = cast %cols
  %rand: f32[4] = rand %i, %e9
  %randint: u32[4] = randint %i, %e9
  %np: i64 = num_programs {axis = 2}
  %br: f32[2, 4] = broadcast %v
  %br0: f32[1, 2, 3, 4] = broadcast %s
  %rs: f32[2, 2] = reshape %v
  %one: f32[1, 1] = reshape %s
  %pe: f32[3, 2, 2] = permute %q {axes = (2, 0, 1)}
  %ca: f32[2, 8] = cat %a, %c {axis = 1}
  %su: f32 = reduce %a {axes = (0, 1), kind = "sum"}
  %sn: f32[2, 3] = reduce %a {axes = (), kind = "max"}
  %am: i32[2] = reduce %a {axes = (1,), kind = "argmax"}
  %co: i32 = reduce %m {axes = (0,), kind = "sum"}
  %an: bool = reduce %m {axes = (0,), kind = "any"}
  %sc: i32[4] = scan %m {axis = 0, kind = "sum", reverse = true}
  %d: f32[2, 5] = dot %a, %b, %c {tf32 = true}
  %l1: f32[4] = load %x, %i, %cols {checked = (true, false), mask = false, other = false, pointwise = false}
  %l2: f32[4] = load %x, %cols, %i, %m, %v
    {mask = true, other = true, checked = (true, false), pointwise = false}
  %l3: f32[4] = load %x, %cols, %cols {checked = (true, true), mask = false, other = false, pointwise = true}
  %l4: f32[4, 4] = load %x, %cols, %cols
    {checked = (true, true), mask = false, other = false, pointwise = false}
  store %y, %i, %cols, %v, %m {checked = (true, true), mask = true, pointwise = false}
  %at: f32 = atomic %y, %i, %i, %s, %s {checked = (true, true), kind = "cas", mask = false, pointwise = false}
  assert %m {text = "no"}
  print {text = "no"}
  print %x9 {text = "value"}
  %f: f32, %g: i64 = for %i, %M, %N, %s, %i (%k: i64, %p: f32, %r: i64) {
    yield %p, %k
  }
  %w: f32 = while %s (%p1: f32) {
    condition %t, %p1
  } do (%p2: f32) {
    yield %p2
  }
  if %t {
    yield
  } else {
    yield
  }
""".replace("%x9", "%v")

GOOD_THREAD = """
  local.store %r, %j, %f
  %a: f32 = local.load %r, %j
  shared.store %p, %j, %a
  barrier
  %b: f32 = shared.load %p, %j
  shared.load_matrix %hs, %j, %fr, %j {placed = true, trans = true}
  mma %r, %j, %fr, %j, %fr, %j {kind = "bf16"}
  shared.copy_async %hs, %j, %h, %o, %j
  global.load_chunk %h, %o, %t, %fr, %j
  shared.store_chunk %hs, %j, %fr, %j
  async.commit
  async.wait {pending = 0}
  async.fence
  wgmma.fence %r
  shared.wgmma %hs, %j, %hs, %j, %r, %j
    {kind = "f16", columns = 16, a = (128, 16, 1024, true), b = (32, 512, 256, false)}
  wgmma.commit
  wgmma.wait %r {pending = 0}
  %al: bool = is_aligned %h
  %s: i64 = stride %x {axis = 0}
  %c: f32 = global.load %x, %s
  global.store %y, %o, %c
  %d: f32 = global.atomic %y, %o, %c, %f {kind = "cas"}
  %e: f32 = add %d, %c
  assert %t {id = 0, text = "t"}
  print %j, %e {id = 1, text = "t"}
  print {id = 2, text = "t"}
  %l: i32 = for %j, %j, %j, %j (%k: i32, %m: i32) {
    yield %k
  } 
"""


def test_good_kernels_pass() -> None:
    check(GOOD)
    check(GOOD_THREAD, THREAD_PREFIX)


def test_every_op_has_a_rule() -> None:
    assert set(RULES) == set(TILE_OPS)
    assert set(THREAD_RULES) | set(RULES) >= set(THREAD_OPS) >= set(THREAD_RULES)


WGMMA = '{kind = "f16", columns = 16, a = (128, 16, 1024, true), b = (128, 16, 1024, true)}'
LOAD = "checked = (true, true), mask = false, other = false, pointwise = false"
STORE = "checked = (true, true), mask = false, pointwise = false"

BROKEN = [
    ("%r: f32[4] = frobnicate %v", "no such op"),
    ("%r: f32[4] = add %v", "takes 2 operands"),
    ("%r: f32[4] = add %v, %s", "one type"),
    ("%r: f32 = add %s, %h", "one type"),
    ("%r: f32 = add %v, %v", "results must be (f32[4])"),
    ("%r: f32[4] = lt %v, %v", "results must be (bool[4])"),
    ("%r: f32[4], %r2: f32 = neg %v", "results must be"),
    ("neg %v", "results must be"),
    ("%r: f32[4] = and %v, %v", "not defined on f32"),
    ("%r: i32[4] = exp %cols", "not defined on i32"),
    ("%r: bool[4] = add %m, %m", "not defined on bool"),
    ("%r: bool[4] = lt %m, %m", "not defined on bool"),
    ("%r: f32[4] = shl %v, %v", "not defined on f32"),
    ("%r: f32[4] = not %v", "not defined on f32"),
    ("%r: f32[4] = exp %v {approx = false}", "true or not there"),
    ("%r: f32[4] = mul %v, %v {approx = true}", "has no approximation"),
    ("%r: f32[4] = erf %v {approx = true}", "has no approximation"),
    ("%r: i64 = div %i, %i", "not defined on i64"),
    ("%r: f32 = neg %x", "must be a tile"),
    ("%r: f32[4] = select %v, %v, %v", "condition must be bool"),
    ("%r: f32[4] = select %t, %v, %v", "one shape"),
    ("%r: i8[5] = cast %v", "keeps the shape"),
    ("%r: f32[4] = rand %s, %v", "seed"),
    ("%r: f32[4] = rand %i, %v", "offsets"),
    ("%r: i32[2, 2] = iota", "rank-1"),
    ("%r: f32[4] = iota", "rank-1"),
    ("iota", "one result"),
    ("%r: f32 = const {value = 1}", "must be a float"),
    ("%r: i32 = const {value = 1.0}", "must be an integer"),
    ("%r: i32 = const {value = true}", "must be an integer"),
    ("%r: bool = const {value = 1}", "true or false"),
    ("%r: i8 = const {value = 128}", "fit i8"),
    ("%r: u8 = const {value = -1}", "fit u8"),
    ("%r: f32 = const", "must be a float"),
    ("%r: i64 = program_id {axis = 3}", "0, 1 or 2"),
    ("%r: i64 = program_id", "0, 1 or 2"),
    ("%r: i32 = program_id {axis = 0}", "results must be (i64)"),
    ("%r: f32[4, 2] = broadcast %v", "does not stretch"),
    ("%r: f32 = broadcast %v", "does not stretch"),
    ("%r: i32[2, 4] = broadcast %v", "keeps the element type"),
    ("%r: f32[5] = reshape %v", "number of elements"),
    ("%r: i32[4] = reshape %v", "element type"),
    ("%r: f32[2, 3] = permute %a {axes = (0, 0)}", "each axis once"),
    ("%r: f32[2, 3] = permute %a {axes = 1}", "must be a tuple"),
    ("%r: f32[2, 3] = permute %a {axes = (1, 0)}", "results must be (f32[3, 2])"),
    ("%r: f32[4, 3] = cat %a, %c {axis = 0}", "along {axis} only"),
    ("%r: f32[4, 3] = cat %a, %v {axis = 0}", "must agree"),
    ("%r: f32[4, 3] = cat %a, %a {axis = 2}", "must be an axis"),
    ("%r: f32[4, 3] = cat {axis = 0}", "at least one"),
    ('%r: f32 = reduce %v {axes = (0,), kind = "mean"}', "must be one of"),
    ('%r: f32 = reduce %v {axes = (1,), kind = "sum"}', "sorted axes"),
    ('%r: f32 = reduce %a {axes = (1, 0), kind = "sum"}', "sorted axes"),
    ('%r: f32 = reduce %v {axes = 0, kind = "sum"}', "must be a tuple"),
    ('%r: i32 = reduce %a {axes = (0, 1), kind = "argmax"}', "take one axis"),
    ('%r: f32 = reduce %v {axes = (0,), kind = "any"}', "take bool"),
    ('%r: bool = reduce %m {axes = (0,), kind = "max"}', "not defined on bool"),
    ('%r: bool = reduce %m {axes = (0,), kind = "sum"}', "results must be (i32)"),
    ('%r: f32[4] = scan %v {axis = 1, kind = "sum", reverse = false}', "must be an axis"),
    ('%r: f32[4] = scan %v {axis = 0, kind = "sum", reverse = 1}', "{reverse}"),
    ('%r: f32[4] = scan %v {axis = 0, kind = "any", reverse = false}', "must be one of"),
    ("%r: f32[2, 5] = dot %a, %a, %c {tf32 = false}", "does not multiply"),
    ("%r: f32[2, 5] = dot %a, %b, %a {tf32 = false}", "accumulator must be f32[2, 5]"),
    ("%r: f32[2, 5] = dot %a, %b, %c", "{tf32}"),
    ("%r: f32[4] = dot %v, %v, %v {tf32 = false}", "rank 2"),
    ("%r: f32[2, 5] = dot %q, %b, %c {tf32 = false}", "rank 2"),
    (f"%r: f32 = load %s, %i, %i {{{LOAD}}}", "must be a tensor"),
    (f"%r: f32 = load %x, %i {{{LOAD}}}", "one index for each axis"),
    (f"%r: f32 = load %x, %i, %s {{{LOAD}}}", "must be integers"),
    (f"%r: f32 = load %x, %i, %i {{{LOAD.replace('(true, true)', '(true,)')}}}", "one bool for each axis"),
    (f"%r: f32 = load %x, %i, %i {{{LOAD.replace('(true, true)', '(1, 0)')}}}", "one bool for each axis"),
    (f"%r: f32 = load %x, %i, %i, %t {{{LOAD}}}", "needs nothing after"),
    (f"%r: f32 = load %x, %i, %i {{{LOAD.replace('mask = false', 'mask = true')}}}", "needs the mask"),
    (
        f"%r: f32 = load %x, %i, %i, %m {{{LOAD.replace('mask = false', 'mask = true')}}}",
        "mask must be bool,",
    ),
    (
        f"%r: f32 = load %x, %i, %i, %h {{{LOAD.replace('other = false', 'other = true')}}}",
        "must be f32, not f16",
    ),
    (f"%r: f32 = load %x, %i, %i {{{LOAD.replace('other = false', 'other = 0')}}}", "{other}"),
    (f"%r: f32 = load %x, %i, %cols {{{LOAD.replace(PLAIN, 'pointwise = true')}}}", "one shape"),
    (f"%r: f32[4] = load %x, %i, %i {{{LOAD}}}", "results must be (f32)"),
    (f"store %x, %i, %i, %s {{{STORE}}}", "read-only"),
    (f"store %y, %i, %i, %v {{{STORE}}}", "the value must be f32,"),
    (f"store %y, %i, %i {{{STORE}}}", "needs the value"),
    (f"%r: f32 = store %y, %i, %i, %s {{{STORE}}}", "results must be ()"),
    (f'%r: f32 = atomic %y, %i, %i, %s {{kind = "sub", {STORE}}}', "{kind}"),
    (f'%r: f32 = atomic %x, %i, %i, %s {{kind = "add", {STORE}}}', "read-only"),
    (f'%r: f32 = atomic %y, %i, %i, %s {{kind = "cas", {STORE}}}', "the expected value"),
    ('assert %v {text = "x"}', "must be bool"),
    ("assert %m {text = 1}", "must be a string"),
    ('print %v, %v {text = "x"}', "at most one"),
    ('print %x {text = "x"}', "must be a tile"),
    ("print %v", "must be a string"),
    # SSA
    (
        "%r: f32 = if %t {\n%u: f32 = neg %s\nyield %u\n} else {\nyield %s\n}\n%w: f32 = neg %u",
        "no definition of it is visible",
    ),
    # control
    ("yield %s", "last op of a nested block"),
    ("if %t {\nyield\nyield\n} else {\nyield\n}", "last op of a nested block"),
    ("if %t {\nyield\n}", "two blocks"),
    ("if %m {\nyield\n} else {\nyield\n}", "bool scalar"),
    ("if %t {\n} else {\nyield\n}", "must end in yield"),
    ("if %t (%z1: f32) {\nyield\n} else {\nyield\n}", "take no arguments"),
    ("%r: f32 = if %t {\nyield %s\n} else {\nyield %h\n}", "block 1 must hand over f32"),
    ("%r: f16 = if %t {\nyield %s\n} else {\nyield %s\n}", "results must be (f32)"),
    ("for %i, %i (%k: i64) {\nyield\n}", "lo, hi and step"),
    ("for %i, %i, %s (%k: i64) {\nyield\n}", "one integer type"),
    ("for %i, %i, %i (%k: i32) {\nyield\n}", "must be the index"),
    ("for %i, %i, %i (%k: i64) {\n}", "must end in yield"),
    ("%r: f32 = for %i, %i, %i, %s (%k: i64, %p: f32) {\nyield\n}", "must hand over f32"),
    ("for %i, %i, %i", "one block"),
    ("while (%u: f32) {\ncondition %t\n} do {\nyield\n}", "must be the carried values"),
    ("while {\nyield %t\n} do {\nyield\n}", "must end in condition"),
    ("while {\ncondition %s\n} do {\nyield\n}", "must hand over bool"),
    (
        "%r: f32 = while %s (%u: f32) {\ncondition %t, %u\n} do (%w: f32) {\nyield %h\n}",
        "block 1 must hand over f32",
    ),
    # limits
    ("%r: f32[2, 1048576] = broadcast %s", "more than 1048576 elements"),
    ("%r: f32[1, 1, 1, 1, 1] = broadcast %s", "rank above 4"),
    ("%r: f32[0] = const {value = 1.0}", "must be positive"),
    ('%r: f32 = neg %s {"a b" = 1}', "no name for an attribute"),
]


@pytest.mark.parametrize(("body", "rule"), BROKEN)
def test_broken_kernels_are_refused(body: str, rule: str) -> None:
    with pytest.raises(InternalError) as caught:
        check(body)
    assert rule in str(caught.value)
    assert caught.value.stage == "verifier"
    assert caught.value.dump.startswith("kernel @k")


BROKEN_THREAD = [
    ("shared.load_matrix %p, %j, %fr, %j {trans = true}", "must be f16, bf16 or i8"),
    ("shared.load_matrix %hs, %j, %fr, %j", "{trans} must be true or false"),
    ("shared.load_matrix %hs, %j, %r, %j {trans = true}", "local array of 4 u32"),
    ("shared.load_matrix %hs, %j, %fr, %o {trans = true}", "index must be i32, not i64"),
    ("mma %r, %j, %fr, %j, %fr, %j {kind = \"f32\"}", "{kind} must be one of f16, bf16"),
    ("%w: u32 = round_tf32 %t", "f32"),
    ("%w: u32 = permute_bytes %j, %j, %j", "u32"),
    ("mma %r, %j, %fr, %j, %fr, %j {kind = \"i8\"}", "local array of 4 i32"),
    ("%w: u32 = pack %f, %f {half = \"f32\"}", "{half} must be f16 or bf16"),
    ("%w: u32 = pack %f, %t {half = \"f16\"}", "must be an f32 or f16"),
    ("%w: i32 = pack %f, %f {half = \"bf16\"}", "u32"),
    ("mma %fr, %j, %fr, %j, %fr, %j {kind = \"f16\"}", "local array of 4 f32"),
    ("mma %r, %j, %r, %j, %fr, %j {kind = \"f16\"}", "operand 2 must be a local array of 4 u32"),
    ("shared.copy_async %p, %j, %x, %o, %j", "must have 8 or 16 bits"),
    ("shared.copy_async %hs, %j, %x, %o, %j", "must have one element type"),
    ("shared.copy_async %hs, %j, %h, %j, %j", "offset must be i64"),
    ("shared.copy_async %hs, %j, %h, %o, %o", "count must be i32"),
    ("global.load_chunk %x, %o, %t, %fr, %j", "must have 8 or 16 bits"),
    ("global.load_chunk %h, %o, %j, %fr, %j", "condition must be bool"),
    ("global.load_chunk %h, %j, %t, %fr, %j", "offset must be i64"),
    ("global.load_chunk %h, %o, %t, %r, %j", "operand 3 must be a local array of 4 u32"),
    ("shared.store_chunk %p, %j, %fr, %j", "must have 8 or 16 bits"),
    ("shared.store_chunk %hs, %j, %r, %j", "operand 2 must be a local array of 4 u32"),
    ("async.wait {pending = 9}", "must be from 0 to"),
    ("wgmma.wait %r", "must be from 0 to"),
    ("wgmma.fence %hs", "operand 0 must be a local array of f32 or u32"),
    ("wgmma.wait %fr {pending = 0}", "operand 0 must be a local array of f32, not"),
    (f"shared.wgmma %hs, %j, %hs, %j, %r, %j {WGMMA}".replace("16,", "12,", 1), "multiple of 8 up to 256"),
    (f"shared.wgmma %hs, %j, %hs, %j, %r, %j {WGMMA}".replace('"f16"', '"f32"'), "must be one of f16, bf16"),
    (f"shared.wgmma %p, %j, %hs, %j, %r, %j {WGMMA}", "operand 0 must be an array of f16 in shared memory"),
    (f"shared.wgmma %hs, %j, %r, %j, %r, %j {WGMMA}", "operand 2 must be an array of f16 in shared memory"),
    (f"shared.wgmma %hs, %j, %hs, %o, %r, %j {WGMMA}", "index must be i32, not i64"),
    (f"shared.wgmma %hs, %j, %hs, %j, %fr, %j {WGMMA}", "local array of 8 f32"),
    (f"shared.wgmma %hs, %j, %hs, %j, %r, %j {WGMMA}".replace("(128", "(256"), "a row of 32, 64 or 128 bytes"),
    (f"shared.wgmma %hs, %j, %hs, %j, %r, %j {WGMMA}".replace("1024", "1000"), "multiples of 16 below"),
    ("%al: bool = is_aligned %r", "must be a tensor"),
    ("%a: f32 = local.load %p, %j", "array of local memory"),
    ("%a: f32 = shared.load %r, %j", "array of shared memory"),
    ("%a: f32 = global.load %r, %o", "must be a tensor"),
    ("%a: f32 = local.load %r, %o", "index must be i32, not i64"),
    ("%a: f32 = global.load %x, %j", "offset must be i64, not i32"),
    ("%a: f16 = local.load %r, %j", "results must be (f32)"),
    ("local.store %r, %j, %j", "value must be f32"),
    ("global.store %x, %o, %f", "read-only"),
    ("%a: f32[4] = const {value = 1.0}", "must be a scalar"),
    ("%a: f32 = local", "must be a local array"),
    ("%a: shared f32[8] = local", "must be a local array"),
    ("%a: local f32[0] = local", "must be a local array"),
    ("%a: i64 = stride %r {axis = 0}", "must be a tensor"),
    ("%a: i64 = stride %x {axis = 1}", "must be an axis"),
    ('assert %t {text = "x"}', "{id}"),
    ('print %f {id = 1, text = "x"}', "number"),
    ('%a: f32 = global.atomic %y, %o, %f {kind = "cas"}', "one value"),
    ("%a: f32 = load %x, %o", "no such op at this level"),
]


@pytest.mark.parametrize(("body", "rule"), BROKEN_THREAD)
def test_broken_thread_kernels_are_refused(body: str, rule: str) -> None:
    with pytest.raises(InternalError) as caught:
        check(body, THREAD_PREFIX)
    assert rule in str(caught.value)


# What the parser would not let through is built by hand.

S = Value("s", TileType(F32))
NEG = Op("neg", (S,), (Value("r", TileType(F32)),))


def by_hand(*ops: Op, **changes: object) -> Kernel:
    return replace(Kernel("k", (S,), (), Block((), ops)), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kernel", "rule"),
    [
        (by_hand(NEG, NEG), "defined twice"),
        (by_hand(replace(NEG, operands=(Value("s", TileType(I32)),))), "defined otherwise"),
        (by_hand(replace(NEG, operands=NEG.results)), "no definition of it is visible"),
        (by_hand(replace(NEG, results=(Value("a b", TileType(F32)),))), "no name for a value"),
        (by_hand(replace(NEG, attrs={"a": np.float64(1)})), "a float64"),
        (by_hand(replace(NEG, attrs={"a": (1, [2])})), "attribute a"),
        (by_hand(level="warp"), "no level"),
        (by_hand(params=(Value("t", TileType(F32, (3,))),)), "a tensor or a scalar"),
        (by_hand(dims=(Value("M", TileType(I32)),)), "must be an i64"),
        (by_hand(dims=(Value("s", TileType(I64)),)), "defined twice"),
        (by_hand(body=Block((Value("q", TileType(F32)),), ())), "takes no arguments"),
    ],
)
def test_kernels_broken_by_hand(kernel: Kernel, rule: str) -> None:
    with pytest.raises(InternalError, match=rule):
        verify(kernel)


def test_tensor_extents_are_dims_of_the_kernel() -> None:
    with pytest.raises(InternalError, match="neither a size nor a dim"):
        verify(parse_kernel("kernel @k(%x: in f32[%N]) dims(%M) tile {\n}"))


def test_the_same_name_in_two_blocks_is_refused() -> None:
    inner = Block((), (replace(NEG, results=(Value("u", TileType(F32)),)), Op("yield")))
    condition = Op(
        "const",
        (),
        (Value("t", TileType(parse_kernel(PREFIX + "}").body.ops[1].result.dtype)),),
        {"value": True},
    )
    with pytest.raises(InternalError, match="defined twice"):
        verify(by_hand(condition, Op("if", condition.results, blocks=(inner, inner))))


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("invert", "i8 u64 bool", "f32"),
        ("mod", "i8 u64", "bool f32"),
        ("pow", "i8 f16", "bool"),
        ("sqrt", "f16 bf16 f64", "i32 bool"),
        ("eq", "bool i8 f32", ""),
        ("not", "bool", "i8 f32"),
    ],
)
def test_what_each_op_accepts(name: str, yes: str, no: str) -> None:
    from tilelang.dtypes import DTYPES

    assert all(accepts(name, DTYPES[d]) for d in yes.split())
    assert not any(accepts(name, DTYPES[d]) for d in no.split())


def test_verifying_is_linear() -> None:
    """10,000 ops and 2,000 blocks within a second or so: no rescan of what is visible for each block."""
    lines = [f"%n{i}: f32 = neg %s" for i in range(10_000)]
    lines += ["if %t {\nyield\n} else {\nyield\n}"] * 1_000
    kernel = parse_kernel(PREFIX + "\n".join(lines) + "\n}")
    verify(kernel)
    assert print_kernel(kernel).count("yield") == 2_000
