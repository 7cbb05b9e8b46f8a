"""Kernels for you to write in `.tile`, from copying a vector to attention; README.md says how.

    specs.py      what each kernel must compute, in NumPy
    inputs.py     random inputs for each
    table.py      the puzzles: spec, inputs, shapes, and how much memory traffic is allowed
    cases.py      the arguments of a run: ragged shapes, special values, views; outputs lie in poisoned surroundings
    running.py    a `.tile` file on the interpreter (for its values) and on the machine model (for its traffic)
    traffic.py    the memory traffic of a run, by line
    judging.py    comparing what was found with what was expected; the message
    slips.py      what comes out of well-known mistakes
    hints.py      the likely cause of what is wrong
    grading.py    all of it for one file
    stubs.py      the files to start from, made of the solutions
    __main__.py   `python -m course.puzzles`
"""
