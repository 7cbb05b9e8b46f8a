"""The machine model: thread IR run in NumPy, with the mistakes found and the costs counted."""

from tilelang.machine.execute import execute
from tilelang.machine.report import Counts, Finding, Problem, Report

__all__ = ["Counts", "Finding", "Problem", "Report", "execute"]
