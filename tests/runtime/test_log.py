"""The log's format: failures, prints in order, and what does not fit."""

from __future__ import annotations

import numpy as np

from tilelang.ir.parser import parse_kernel
from tilelang.runtime.log import HEADER, MAX_SITES, NO_FAILURE, RECORD, decode, new_log, sites

KERNEL = parse_kernel("""kernel @k(%x: in f32[4]) dims() tile {
  %t: bool = const {value = true}
  %v: f16[2, 2] = const {value = 1.0}
  %u: u64 = const {value = 1}
  assert %t {text = "first"}
  if %t {
    print %v {text = "tile"}
    yield
  } else {
    print {text = "bare"}
    yield
  }
  print %u {text = "scalar"}
}
""")


def filled(*records: tuple[int, int, int, int], capacity: int = 16) -> np.ndarray:
    log = new_log(sites(KERNEL), capacity)
    log[1] = len(records)
    flat = np.array(records, np.int64).reshape(-1)[:RECORD * capacity]
    log[HEADER:HEADER + len(flat)] = flat
    return log


def bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


def test_sites_are_numbered_in_the_order_of_the_text():
    found = sites(KERNEL)
    assert [(s.number, s.kind, s.text) for s in found] == [
        (0, "assert", "first"), (1, "print", "tile"), (2, "print", "bare"), (3, "print", "scalar")]
    assert found[1].shape == (2, 2) and found[2].shape is None and found[3].shape == ()


def test_an_untouched_log_says_nothing():
    report = decode(new_log(sites(KERNEL)), sites(KERNEL), (3,))
    assert report.failure is None and report.printed == () and report.dropped == 0
    assert new_log(())[0] == NO_FAILURE and len(new_log(())) == HEADER


def test_a_failure_names_site_and_program():
    log = new_log(sites(KERNEL))
    log[0] = 7 * MAX_SITES + 0
    failure = decode(log, sites(KERNEL), (3, 4)).failure
    assert failure is not None and failure.site.text == "first" and failure.program == (1, 2)


def test_elements_in_any_order_are_put_together():
    records = [(1, 0, 0, bits(0.5)), (1, 0, 3, bits(3.0)), (1, 0, 1, bits(np.inf)), (1, 0, 2, bits(-2.0))]
    (printed,) = decode(filled(*records), sites(KERNEL), (1,)).printed
    assert printed.value is not None and printed.value.dtype == np.float16
    np.testing.assert_array_equal(printed.value, np.array([[0.5, np.inf], [-2.0, 3.0]], np.float16))


def test_prints_of_a_loop_keep_their_order_and_programs_are_sorted():
    records = [(3, 1, 0, -1), (3, 0, 0, 5), (2, 1, 0, 0), (1, 1, 1, bits(1.0)), (1, 1, 0, bits(0.0)), (3, 0, 0, 6),
               (1, 1, 0, bits(4.0)), (1, 1, 1, bits(5.0)), (1, 1, 2, bits(2.0)), (1, 1, 3, bits(3.0)),
               (1, 1, 2, bits(6.0)), (1, 1, 3, bits(7.0))]
    printed = decode(filled(*records), sites(KERNEL), (2,)).printed
    told = [(p.site.text, p.program, None if p.value is None else p.value.ravel().tolist()) for p in printed]
    assert told == [("scalar", (0,), [5]), ("scalar", (0,), [6]), ("scalar", (1,), [2**64 - 1]), ("bare", (1,), None),
                    ("tile", (1,), [0.0, 1.0, 2.0, 3.0]), ("tile", (1,), [4.0, 5.0, 6.0, 7.0])]


def test_records_beyond_the_capacity_are_counted():
    records = [(3, 0, 0, n) for n in range(10)]
    report = decode(filled(*records, capacity=4), sites(KERNEL), (1,))
    assert [int(p.value) for p in report.printed] == [0, 1, 2, 3] and report.dropped == 6
