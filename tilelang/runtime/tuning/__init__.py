"""Tuning: which of the values that a kernel's metas may take is fastest, found by trying, and kept on disk.

    space      the combinations to try
    arena      arguments for trials, so that the caller's own arrays are never written
    clocks     how long one launch takes: on the CPU, on a GPU, or by the machine model's estimate
    race       configurations take turns; clearly slow ones leave
    result     what came out, with its table
    store      results kept on disk, for later launches
    job        one tuning under way: trying all, racing, the outcome
    tune       from a caller's arguments to a job
"""
