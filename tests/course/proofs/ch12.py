"""Chapter 12."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "next_pow2": Proof(
        (
            text(
                "the power after",
                """
def next_pow2(n):
    return 1 << n.bit_length() if n > 0 else 1
""",
                r"already",
            ),
            text(
                "the power before",
                """
def next_pow2(n):
    return 1 << (n.bit_length() - 1) if n > 0 else 1
""",
                r"not smaller",
            ),
            text(
                "through floats",
                """
import math


def next_pow2(n):
    return 1 if n < 1 else 2 ** math.ceil(math.log2(n))
""",
                r"exact",
            ),
            change("nothing for nothing", "else 1", "else 0", r"smaller than 1|already"),
            change("negative shifts", " if n > 1 else 1", "", r"smaller than 1|ValueError"),
            text(
                "a table",
                """
def next_pow2(n):
    return next((2**p for p in range(20) if 2**p >= n), 2**20)
""",
                r"already|exact",
            ),
        ),
        (
            """
def next_pow2(n):
    power = 1
    while power < n:
        power *= 2
    return power
""",
            """
def next_pow2(n):
    return 2 ** len(bin(n - 1)[2:]) if n > 1 else 1
""",
        ),
    ),
    "row_major": Proof(
        (
            change("column-major", "reversed(shape)", "shape", r"a plane has"),
            change("not turned round", "tuple(reversed(strides))", "tuple(strides)", r"a plane has"),
            change(
                "one step late",
                "        strides.append(step)\n        step *= extent\n",
                "        step *= extent\n        strides.append(step)\n",
                r"a plane has",
            ),
            change("bytes", "strides, step = [], 1", "strides, step = [], 4", r"a plane has"),
            change("a list", "tuple(reversed(strides))", "list(reversed(strides))", r"a list, where"),
        ),
        (
            """
from math import prod


def row_major(shape):
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
""",
            """
def row_major(shape):
    if not shape:
        return ()
    rest = row_major(shape[1:])
    return (rest[0] * shape[1] if rest else 1, *rest)
""",
        ),
    ),
    "_ids": Proof(
        (
            text(
                "the last axis fastest",
                """
def _ids(program, grid):
    ids = []
    for extent in reversed(grid):
        ids.append(program % extent)
        program //= extent
    return tuple(reversed(ids))
""",
                r"program 1 is",
            ),
            change("a list", "return tuple(ids)", "return ids", r"a list, where"),
            change("turned round", "return tuple(ids)", "return tuple(ids[::-1])", r"program 1 is"),
            change("never divided", "        program //= extent\n", "", r"program 1 is|program 4"),
            change("quotient for remainder", "program % extent", "program // extent", r"program 1 is"),
        ),
        (
            """
def _ids(program, grid):
    if not grid:
        return ()
    rest, first = divmod(program, grid[0])
    return (first, *_ids(rest, grid[1:]))
""",
            """
def _ids(program, grid):
    result, below = (), 1
    for extent in grid:
        result += (program // below % extent,)
        below *= extent
    return result
""",
        ),
    ),
    "key_of": Proof(
        (
            change("joined", 'f"{len(part)}:{part};".encode()', "part.encode()", r"length, colon|one key"),
            change("no lengths", 'f"{len(part)}:{part};"', 'f"{part};"', r"length, colon"),
            change("all digits", "[:40]", "", r"first 40"),
            change("another hash", "hashlib.sha256()", "hashlib.md5()", r"length, colon"),
            text(
                "Python's hash",
                """
def key_of(*parts):
    return f'{hash(parts) & (2**160 - 1):040x}'
""",
                r"length, colon",
            ),
            change("sorted", "for part in parts:", "for part in sorted(parts):", r"length, colon|one key"),
            change(
                "the last part only",
                "    for part in parts:\n",
                "    for part in parts[-1:]:\n",
                r"length, colon|one key",
            ),
        ),
        (
            """
def key_of(*parts):
    text = "".join(f"{len(part)}:{part};" for part in parts)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:40]
""",
            """
def key_of(*parts):
    whole = b""
    for part in parts:
        whole += b"%d:%b;" % (len(part), part.encode())
    return hashlib.new("sha256", whole).digest()[:20].hex()
""",
        ),
    ),
    "reach": Proof(
        (
            change("extents for steps", "(extent - 1) * stride", "extent * stride", r"11 away|two steps"),
            change("backwards forgotten", "sum(min(end, 0) for end in ends)", "0", r"below the first"),
            change(
                "summed up",
                "return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)",
                "return min(sum(ends), 0), max(sum(ends), 0)",
                r"rows run backwards|lowest and the highest",
            ),
            change("empty arrays", "    if 0 in shape:\n        return 0, 0\n", "", r"reaches nowhere"),
            change("the largest axis", "sum(max(end, 0) for end in ends)", "max([0, *ends])", r"11 away"),
            change(
                "distances", "sum(min(end, 0) for end in ends)", "-sum(min(end, 0) for end in ends)", r"below the first"
            ),
        ),
        (
            """
def reach(shape, strides):
    low = high = 0
    for extent, stride in zip(shape, strides):
        if extent == 0:
            return 0, 0
        step = (extent - 1) * stride
        if step < 0:
            low += step
        else:
            high += step
    return low, high
""",
            """
def reach(shape, strides):
    if not all(shape):
        return (0, 0)
    ends = [stride * (extent - 1) for extent, stride in zip(shape, strides)]
    return sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
""",
        ),
    ),
    "given_names": Proof(
        (
            change(
                "always all",
                "(signature.params if count > len(inputs) else inputs)",
                "signature.params",
                r"outputs are left out",
            ),
            change(
                "always inputs",
                "(signature.params if count > len(inputs) else inputs)",
                "inputs",
                r"all parameters in order",
            ),
            change(
                "as many as there are inputs", "count > len(inputs)", "count >= len(inputs)", r"outputs are left out"
            ),
            change("not cut off", "[:count])", ")", r"or fewer|outputs are left out"),
            change("the parameters themselves", "tuple(p.name for p in", "tuple(p for p in", r"expected"),
            change("a list", "return tuple(", "return list(", r"a list, where"),
        ),
        (
            """
def given_names(signature, count):
    chosen = signature.params
    if count <= len(_inputs(signature)):
        chosen = _inputs(signature)
    return tuple(map(lambda p: p.name, chosen))[:count]
""",
            """
def given_names(signature, count):
    every = [p.name for p in signature.params]
    inputs = [p.name for p in signature.params if p.mode != "out"]
    names = []
    for name in inputs if len(inputs) >= count else every:
        if len(names) < count:
            names.append(name)
    return tuple(names)
""",
        ),
    ),
    "_converted": Proof(
        (
            change(
                "bools are ints",
                "    if isinstance(value, (bool, np.bool_)):\n        return bool(value)\n",
                "",
                r"of the same type",
            ),
            change(
                "arrays are numbers",
                '    raise Refused("E0517", describe(value), "a number is needed", help)',
                "    return value",
                r"no plain number",
            ),
            change("rank 0 refused", "value.ndim == 0", "value.ndim == 7", r"rank 0"),
            change("bfloat16 refused", ' or type(value).__name__ == "bfloat16"', "", r"bfloat16|Refused"),
            change("NumPy scalars kept", "return float(value)", "return value", r"become Python's"),
            text(
                "anything that converts",
                """
def _converted(value):
    return value if type(value) in (int, bool, float) else float(value)
""",
                r"become Python's|ValueError|no plain number",
            ),
            change("another code", '"E0517"', '"E0505"', r"E0517"),
            change("one help for all", "if is_array else", "if True else", r"something with `\{x\}=1`"),
            change("any array of one element", "in ((), (1,))", "!= ()", r"something with `\{x\}: f32\[N\]`"),
        ),
        (
            """
def _converted(value):
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, (np.generic, bool, int, float)):
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, (bool, int, float)):
            return plain
        if type(value).__name__ == "bfloat16":
            return float(value)
    remedy = "write {x}=1"
    if isinstance(value, (complex, np.complexfloating)):
        remedy = "take {x}.real"
    elif isinstance(value, np.ndarray):
        remedy = "take {x}.item()" if value.shape == (1,) else "declare {x}: f32[N]"
    raise Refused("E0517", describe(value), "a number is needed", remedy)
""",
            """
def _converted(value):
    kind = type(value)
    if kind in (bool, int, float):
        return value
    if kind is np.ndarray and value.ndim == 0:
        return _converted(value[()])
    for host, python in ((np.bool_, bool), (np.integer, int), (np.floating, float)):
        if isinstance(value, host):
            return python(value)
    if kind.__name__ == "bfloat16":
        return float(value)
    if np.iscomplexobj(value) and np.ndim(value) == 0:
        raise Refused("E0517", "complex", "no real number", "{x}.real is one")
    if offers(value, "item") and np.shape(value) in ((), (1,)):
        raise Refused("E0517", describe(value), "no number", "{x}.item() is one")
    remedy = "{x}: f32[N] takes an array" if kind is np.ndarray else "{x}=1 is a number"
    raise Refused("E0517", describe(value), "no number", remedy)
""",
        ),
    ),
    "winner": Proof(
        (
            text(
                "the fastest, however close",
                """
def winner(seconds):
    return min(seconds, key=lambda number: seconds[number])
""",
                r"cannot be told|no time|default|lowest number",
            ),
            text(
                "always the default",
                """
def winner(seconds):
    return min(seconds)
""",
                r"clearly the fastest|gaps",
            ),
            text(
                "close to the one before",
                """
def winner(seconds):
    best = max(seconds, key=lambda number: (seconds[number], number))
    for number in sorted(seconds, reverse=True):
        if seconds[number] <= CLOSE * seconds[best]:
            best = number
    return best
""",
                r"but not to the fastest|clearly|lowest|lower|CLOSE",
            ),
            change("the last of them", "return min(", "return max(", r"lower number|default|no time|lowest"),
            change("strictly", "<= CLOSE", "< CLOSE", r"no time|clearly"),
            text(
                "the time, not the number",
                """
def winner(seconds):
    return min(seconds.values())
""",
                r"clearly the fastest",
            ),
        ),
        (
            """
def winner(seconds):
    limit = min(seconds.values()) * CLOSE
    for number in sorted(seconds):
        if seconds[number] <= limit:
            return number
""",
            """
def winner(seconds):
    ranked = sorted(seconds.items(), key=lambda item: item[1])
    fastest = ranked[0][1]
    close = [number for number, time in ranked if not time > CLOSE * fastest]
    return sorted(close)[0]
""",
        ),
    ),
    "configurations": Proof(
        (
            text(
                "the first meta fastest",
                """
def configurations(choices, first):
    names = list(choices)[::-1]
    found = [dict(zip(names, values)) for values in product(*(choices[name] for name in names))]
    found = [{name: config[name] for name in choices} for config in found]
    return [config for config in found if config == first] + [config for config in found if config != first]
""",
                r"last meta",
            ),
            text(
                "the default twice",
                """
def configurations(choices, first):
    found = [dict(zip(choices, values)) for values in product(*choices.values())]
    return [config for config in found if config == first] + found
""",
                r"once",
            ),
            text(
                "the default in its place",
                """
def configurations(choices, first):
    return [dict(zip(choices, values)) for values in product(*choices.values())]
""",
                r"before all others|`first`",
            ),
            text(
                "a default that is none",
                """
def configurations(choices, first):
    found = [dict(zip(choices, values)) for values in product(*choices.values())]
    return [dict(first)] + [config for config in found if config != first]
""",
                r"not tried",
            ),
            text(
                "one meta at a time",
                """
def configurations(choices, first):
    found = [dict(first)]
    for name, values in choices.items():
        found += [{**first, name: value} for value in values if value != first[name]]
    return found
""",
                r"last meta|once|KeyError",
            ),
            text(
                "two metas only",
                """
def configurations(choices, first):
    found = [{}]
    for name, values in list(choices.items())[:2]:
        found = [{**config, name: value} for config in found for value in values]
    return [config for config in found if config == first] + [config for config in found if config != first]
""",
                r"last meta",
            ),
        ),
        (
            """
def configurations(choices, first):
    found = [{}]
    for name, values in choices.items():
        found = [{**config, name: value} for config in found for value in values]
    return sorted(found, key=lambda config: config != first)
""",
            """
def configurations(choices, first):
    if not choices:
        return [{}]
    *names, last = choices
    shorter = configurations({name: choices[name] for name in names}, None)
    found = [{**config, last: value} for config in shorter for value in choices[last]]
    if first in found:
        found.remove(first)
        found.insert(0, dict(first))
    return found
""",
        ),
    ),
    "still_in": Proof(
        (
            text(
                "the lucky run leads",
                """
def still_in(samples, slack):
    lead = min(min(times) for times in samples.values())
    return [number for number, times in samples.items() if min(times) <= slack * lead]
""",
                r"median",
            ),
            text(
                "medians against each other",
                """
def still_in(samples, slack):
    medians = {number: statistics.median(times) for number, times in samples.items()}
    return [number for number in samples if medians[number] <= slack * min(medians.values())]
""",
                r"fast in one|median",
            ),
            text(
                "means",
                """
def still_in(samples, slack):
    lead = min(sum(times) / len(times) for times in samples.values())
    return [number for number, times in samples.items() if min(times) <= slack * lead]
""",
                r"median",
            ),
            change("exactly at the limit", "<= slack", "< slack", r"exactly|alone|leader"),
            change("without slack", "slack * lead", "lead", r"slack|nine|twice"),
            text(
                "the number that is lowest",
                """
def still_in(samples, slack):
    lead = statistics.median(samples[min(samples)])
    return [number for number, times in samples.items() if min(times) <= slack * lead]
""",
                r"leader|median",
            ),
            text(
                "sorted",
                """
def still_in(samples, slack):
    lead = min(statistics.median(times) for times in samples.values())
    return sorted(number for number, times in samples.items() if min(times) <= slack * lead)
""",
                r"order is kept|median",
            ),
            text(
                "the middle one of an even number",
                """
def still_in(samples, slack):
    lead = min(sorted(times)[len(times) // 2] for times in samples.values())
    return [number for number, times in samples.items() if min(times) <= slack * lead]
""",
                r"median",
            ),
        ),
        (
            """
def still_in(samples, slack):
    medians = []
    for times in samples.values():
        ordered, half = sorted(times), len(times) // 2
        medians.append(ordered[half] if len(times) % 2 else (ordered[half - 1] + ordered[half]) / 2)
    limit = slack * min(medians)
    return [number for number in samples if any(time <= limit for time in samples[number])]
""",
            """
def still_in(samples, slack):
    leader = min(samples, key=lambda number: statistics.median(samples[number]))
    staying = list(samples)
    for number, times in samples.items():
        if min(times) > slack * statistics.median(samples[leader]):
            staying.remove(number)
    return staying
""",
        ),
    ),
    "meets_itself": Proof(
        (
            change(
                "all elements listed", "if stride < reach:", "if stride < reach or extent > 1000:", "16 million places"
            ),
            change(
                "zero strides forgotten",
                "return stride == 0 or _some_offsets_are_near(axes, itemsize)",
                "return stride != 0 and _some_offsets_are_near(axes, itemsize)",
                r"one place|five times",
            ),
            change("extents of one move", " if n != 1)", ")", r"an extent of 1 never moves"),
            change("empty arrays", "    if any(n == 0 for _, n in axes):\n        return False\n", "", r"no elements"),
            change(
                "never sure",
                "return stride == 0 or _some_offsets_are_near(axes, itemsize)",
                "return True",
                r"none meets another|interleave",
            ),
            change(
                "never meets",
                "return stride == 0 or _some_offsets_are_near(axes, itemsize)",
                "return stride == 0",
                r"windows share|last of one",
            ),
            change(
                "one axis at a time",
                "        reach += stride * (extent - 1)\n",
                "",
                r"windows share|first of the next|first row|listing",
            ),
            change(
                "not sorted",
                "axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1)",
                "axes = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1]\n    if axes and axes[0][0] > axes[-1][0]:\n        return False",
                r"windows|last of one|listing|six times|first row|one place",
            ),
        ),
        (
            """
def meets_itself(array):
    size = array.dtype.bytes if isinstance(array, DeviceArray) else array.dtype.itemsize
    if 0 in array.shape:
        return False
    axes = [(abs(stride), extent) for stride, extent in zip(array.strides, array.shape) if extent > 1]
    if any(stride == 0 for stride, _ in axes):
        return True
    spanned = size
    for stride, extent in sorted(axes):
        if stride < spanned:
            return _some_offsets_are_near(sorted(axes), size)
        spanned = spanned + (extent - 1) * stride
    return False
""",
            """
import itertools


def meets_itself(array):
    axes = sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n != 1)
    size = array.dtype.bytes if isinstance(array, DeviceArray) else array.dtype.itemsize
    if all(s >= size + sum(t * (n - 1) for t, n in axes[:i]) for i, (s, _) in enumerate(axes)):
        return False
    places = set()
    for index in itertools.product(*map(range, array.shape)):
        place = sum(i * s for i, s in zip(index, array.strides))
        if place in places:
            return True
        places.add(place)
    return False
""",
        ),
    ),
}
