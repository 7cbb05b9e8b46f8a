"""Benchmarks: the compiler's kernels against NumPy and, where it is installed, PyTorch, on the CPU.

Each contestant runs in a process of its own (numba's and PyTorch's thread pools disturb each other), and they take
turns, so that what else the machine does hits all alike. Reported are medians, and ratios of a round's times.
"""
