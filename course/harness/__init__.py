"""Ways to call a learner's function where its arguments cannot travel, or where a whole stage is to run with it.

Each function gets the learner's function first. It runs in the learner's process (`course.worker`), in which the
learner's function also stands in the compiler's place.
"""

from __future__ import annotations

from course.harness.back import (
    banks_of_column,
    barriers,
    fresh_names,
    names_given,
    on_array,
    on_lanes,
    on_op,
    refusal,
    row_of_places,
    same_for_all,
    shared_arrays,
    split_of,
    waiting_at,
)
from course.harness.front import (
    body_of_text,
    clauses,
    could_follow,
    declared,
    deep_spine,
    meaning_after,
    on_source,
    pieces,
    recursion,
    resolved,
    scope_number,
    spans_of_clauses,
)
from course.harness.general import (
    listed,
    with_sink,
    without_warnings,
)
from course.harness.ir import (
    after,
    deaths,
    hoisted,
    kernel_of,
    located,
    on_ops,
    ops_after,
    rule,
    verdict,
    verdict_on_broken,
)

__all__ = [
    "after",
    "banks_of_column",
    "barriers",
    "body_of_text",
    "clauses",
    "could_follow",
    "deaths",
    "declared",
    "deep_spine",
    "fresh_names",
    "hoisted",
    "kernel_of",
    "listed",
    "located",
    "meaning_after",
    "names_given",
    "on_array",
    "on_lanes",
    "on_op",
    "on_ops",
    "on_source",
    "ops_after",
    "pieces",
    "recursion",
    "refusal",
    "resolved",
    "row_of_places",
    "rule",
    "same_for_all",
    "scope_number",
    "shared_arrays",
    "spans_of_clauses",
    "split_of",
    "verdict",
    "verdict_on_broken",
    "waiting_at",
    "with_sink",
    "without_warnings",
]
