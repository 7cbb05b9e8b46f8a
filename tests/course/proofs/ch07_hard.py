"""Chapter 7, the later exercises."""

from __future__ import annotations

from tests.course.proving import Proof, change

PROOFS = {
    "locate": Proof(
        (
            change(
                "another stage",
                'InternalError("interpreter"',
                'InternalError("locate"',
                "a message like '\\^interpreter",
            ),
            change(
                "negative indexes wrap",
                "(signed >= 0) & (signed < extent)",
                "signed < extent",
                r"at least 0|below the extent",
            ),
            change("one too far", "signed < extent)", "signed <= extent)", r"below the extent"),
            change("the mask forgotten", "np.asarray(True) if mask is None else mask", "np.asarray(True)", r"mask"),
            change("unsafe indexes", "np.where(inside, signed, 0)", "signed", r"made 0"),
            change("clamped", "np.where(inside, signed, 0)", "np.clip(signed, 0, extent - 1)", r"made 0"),
            change("unchecked means trusted", "if checked[axis] or trusting:", "if True:", r"the compiler's mistake"),
            change("promises without the mask", "if np.any(valid & ~inside):", "if np.any(~inside):", r"promise"),
            change("trusting ignored", "checked[axis] or trusting", "checked[axis]", r"trusting"),
            change("unsigned compared", "index.astype(np.int64)", "index", r"u64|uint64|2\^63"),
        ),
        (
            """
def locate(tensor, indexes, mask, checked, trusting=False):
    wide = [index.astype(np.int64) for index in indexes]
    within = [(0 <= i) & (i < n) for i, n in zip(wide, tensor.shape, strict=True)]
    valid = mask if mask is not None else np.asarray(True)
    for good, check in zip(within, checked):
        if check or trusting:
            valid = np.logical_and(valid, good)
    for good, check in zip(within, checked):
        if not check and not trusting and not np.all(good | ~valid):
            raise InternalError("interpreter", "a promise was broken")
    return Place(tuple(np.where(g, i, 0) for g, i in zip(within, wide)), valid)
""",
            """
def locate(tensor, indexes, mask, checked, trusting=False):
    safe = []
    narrowed = np.array(True) if mask is None else mask
    whole = narrowed
    for index, extent, check in zip(indexes, tensor.shape, checked):
        number = np.asarray(index, dtype=np.int64)
        good = np.logical_not((number < 0) | (number >= extent))
        safe.append(number * good)
        whole = whole & good
        if check or trusting:
            narrowed = narrowed & good
    if np.any(narrowed & ~whole):
        raise InternalError("interpreter", "outside")
    return Place(tuple(safe), narrowed)
""",
        ),
    ),
    "block": Proof(
        (
            change("one value too many forgotten", "> outside", ">= outside", "%st came before"),
            change(
                "nothing forgotten",
                "while len(self.visible) > outside:",
                "while False:",
                r"no definition of it is visible",
            ),
            change("everything forgotten", "outside = len(self.visible)", "outside = 0", r"visible|used where"),
            change(
                "arguments unknown",
                "    for arg in block.args:\n        self.define(arg)\n",
                "",
                r"visible in blocks|used where",
            ),
            change(
                "arguments stay",
                "outside = len(self.visible)",
                "outside = len(self.visible) + len(block.args)",
                r"%a is used where|no definition",
            ),
            change(
                "every op may be the last", "last=number == len(block.ops) - 1", "last=True", r"must be the last op"
            ),
            change(
                "no op is the last",
                "last=number == len(block.ops) - 1",
                "last=False",
                r"visible in blocks|last op|terminator",
            ),
            change(
                "names forgotten for good",
                "self.visible.popitem()  # the newest first",
                "self.defined.discard(self.visible.popitem()[0])",
                r"defined twice",
            ),
        ),
        (
            """
def block(self, block):
    before = dict(self.visible)
    for arg in block.args:
        self.define(arg)
    *front, end = block.ops
    for op in front:
        self.op(op, last=False)
    self.op(end, last=True)
    self.visible = before
""",
            """
def block(self, block):
    known = set(self.visible)
    for arg in block.args:
        self.define(arg)
    left = len(block.ops)
    for op in block.ops:
        left -= 1
        self.op(op, not left)
    for name in [n for n in self.visible if n not in known]:
        del self.visible[name]
""",
        ),
    ),
    "_scan": Proof(
        (
            change(
                "forwards",
                "in reversed(range(len(block.ops))):",
                "in range(len(block.ops)):",
                r"last time|after the last",
            ),
            change(
                "results do not count",
                "names = uses[number] | {result.name for result in block.ops[number].results}",
                "names = uses[number]",
                r"dies at once|where it is made",
            ),
            change("outer values die too", "& local\n", "\n", r"from outside|own|inner"),
            change(
                "inner blocks are not looked into",
                "            names |= _scan(inner, deaths)\n",
                "            _scan(inner, deaths)\n",
                r"inner blocks",
            ),
            change(
                "inner blocks get no deaths",
                "            names |= _scan(inner, deaths)\n",
                "            names |= _scan(inner, {})\n",
                r"own block|inner blocks",
            ),
            change(
                "all that is used comes from outside",
                "return used - local",
                "return used",
                r"from outside|last time|dies",
            ),
            change("arguments are not its own", "{arg.name for arg in block.args} | ", "", r"inner blocks|own block"),
            change(
                "empty ones too",
                "        if last:\n            dying[number] = tuple(last)\n",
                "        dying[number] = tuple(last or ('?',))\n",
                r"expected",
            ),
        ),
        (
            """
def _scan(block, deaths):
    own = {a.name for a in block.args}
    last = {}
    outside = set()
    for number, op in enumerate(block.ops):
        own.update(r.name for r in op.results)
        names = {v.name for v in op.operands} | {r.name for r in op.results}
        for inner in op.blocks:
            names |= _scan(inner, deaths)
        for name in names:
            last[name] = number
    found = {}
    for name, number in last.items():
        if name in own:
            found[number] = (*found.get(number, ()), name)
        else:
            outside.add(name)
    deaths[id(block)] = found
    return outside
""",
            """
def _scan(block, deaths):
    mentions = []
    for op in block.ops:
        inside = [_scan(inner, deaths) for inner in op.blocks]
        mentions.append({v.name for v in (*op.operands, *op.results)}.union(*inside))
    own = {v.name for v in block.args}
    for op in block.ops:
        own |= {v.name for v in op.results}
    deaths[id(block)] = {}
    for number, names in enumerate(mentions):
        later = set().union(*mentions[number + 1 :])
        dying = tuple(sorted((names & own) - later))
        if dying:
            deaths[id(block)][number] = dying
    return set().union(*mentions) - own
""",
        ),
    ),
}
