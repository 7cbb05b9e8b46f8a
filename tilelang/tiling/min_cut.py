"""The cheapest way to cut a network in two: which edges, taken away, part the source from the sink.

           3          2            The edges a -> t and b -> t together carry 3, no more can flow,
      s ------> a ------> t        and so no cheaper cut exists: {s, a, b} on one side, {t} on the other.
      |  1      | 9   1   ^
      +-------> b --------+

Source: Ford and Fulkerson, "Maximal flow through a network", 1956; paths are searched breadth first (Edmonds and Karp,
1972), so that there are few.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable

Node = Hashable
NEVER = 1 << 60
"""The capacity of an edge that is not to be cut."""


class Network:
    """Directed edges with whole capacities; edges between the same two nodes add up."""

    def __init__(self) -> None:
        self.room: dict[Node, dict[Node, int]] = defaultdict(lambda: defaultdict(int))

    def edge(self, start: Node, end: Node, capacity: int) -> None:
        """Let `capacity` more flow from `start` to `end`. An edge from a node to itself is none."""
        if start != end:
            self.room[start][end] += capacity
            self.room[end][start] += 0

    def cut(self, source: Node, sink: Node) -> tuple[int, set[Node]]:
        """What the cheapest cut costs, and the nodes on the sink's side: as few as a cut of this cost can have.

        The network is used up: what room is left is what no flow has taken.
        """
        flow = 0
        while (path := self._path(source, sink)) is not None:
            narrowest = min(self.room[start][end] for start, end in path)
            for start, end in path:
                self.room[start][end] -= narrowest
                self.room[end][start] += narrowest
            flow += narrowest
        return flow, self._leading_to(sink)

    def _path(self, source: Node, sink: Node) -> list[tuple[Node, Node]] | None:
        """The edges of a shortest way with room, if there is one."""
        came_from: dict[Node, Node] = {source: source}
        waiting = deque([source])
        while waiting and sink not in came_from:
            node = waiting.popleft()
            for end, room in self.room[node].items():
                if room > 0 and end not in came_from:
                    came_from[end] = node
                    waiting.append(end)
        if sink not in came_from:
            return None
        path, node = [], sink
        while node != source:
            path.append((came_from[node], node))
            node = came_from[node]
        return path

    def _leading_to(self, sink: Node) -> set[Node]:
        """All nodes from which there is still a way with room to the sink, and the sink."""
        found, waiting = {sink}, deque([sink])
        while waiting:
            node = waiting.popleft()
            for start in list(self.room[node]):
                if self.room[start][node] > 0 and start not in found:
                    found.add(start)
                    waiting.append(start)
        return found
