"""Chapter 13: attention as language models run it, written in `attention.tile` and graded like a puzzle.

What it must compute, and how it is graded, is in `course.puzzles.capstone`.
"""
