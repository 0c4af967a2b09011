"""A graph on a static grid as a model: node on tile, net on link at an age, edge of so many links, issue cycles.

A link carries one signal of one age, so that at most one ``used[net, link, age]`` is true for each link: the value of a
node is on the link ``age`` cycles after it left the node's output register. It is there because it left its own tile
(age 0) or came over a link that leads there, a cycle younger. An edge of ``age + 1`` links ends on a link of that age
into the tile of its target. FIFOs are the slack of issue cycles, as in
:mod:`gridloom.targets.grid.mappers.balance.exact`.

Without links the model is a relaxation: tiles are different and edges are at least as long as tiles are apart (edges of
more than ``longest`` links count as of that many). What it refutes, and the wirelength it is bounded by, hold for every
mapping.

Two things make the model smaller without losing mappings: the node with the most edges is only tried on one tile of
each class of tiles that symmetries of the array cannot tell apart, and on a grid of two colours an edge of odd length
joins two colours. Size: about nodes * tiles + nets * links * ``longest`` variables, and clauses with about edges *
tiles^2 * ``longest`` literals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gridloom.search.arrays import Int32s
from gridloom.search.budget import SearchClock
from gridloom.search.solver import Solved, check_clock, check_size, check_time, cp_model
from gridloom.search.symmetry import representatives
from gridloom.targets.grid.mappers.problem import UNLIMITED, StaticProblem
from gridloom.targets.grid.mappers.route.pathfinder import GridRoutes

Aim = Literal["wirelength", "buffers", "latency", "any"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticScope:
    """What a model covers and asks for.

    A limit that is not None is a constraint of the model, so ``infeasible`` refutes exactly the mappings within the
    scope: those with routes of at most ``longest`` links, and so on. ``aim`` adds an objective to minimise.
    """

    #: Links that a route may have at most.
    longest: int
    #: What is made small; ``any``: any mapping.
    aim: Aim = "any"
    #: FIFO cycles of an operand at most; None: as the tiles have them.
    fifo: int | None = None
    #: Links beyond one per edge, all together, at most; None: no limit.
    wirelength: int | None = None
    #: False: places only, a relaxation.
    links: bool = True
    #: The tile of each node, where places are settled and only routes are asked for.
    places: tuple[int, ...] | None = None
    #: Links that a route may have beyond the shortest way, where places are settled.
    detour: int = 4


class StaticModel:
    """The model of a problem within a scope, built once, with its variables at hand.

    ``model`` is what the solver takes. After a solve that found a solution, :meth:`position` and :meth:`routes` read
    it. ModelTooLargeError is raised before anything is built where the size would be beyond what is solved in time, and
    OutOfTimeError where the clock ends first.
    """

    def __init__(self, problem: StaticProblem, scope: StaticScope, clock: SearchClock) -> None:
        self.problem = problem
        self.scope = scope
        self.clock = clock
        self.model: Any = cp_model().CpModel()
        #: (node, tile), (node, link, age), (edge, age) -> variable; only edges between different nodes.
        self.at: dict[tuple[int, int], Any] = {}
        self.used: dict[tuple[int, int, int], Any] = {}
        self.age: dict[tuple[int, int], Any] = {}
        self.crossing = np.flatnonzero(problem.source != problem.target).tolist()
        check_size(self._size())
        check_time(self._size(), clock)
        self._add_places()
        self._add_lengths()
        if scope.longest == 1:
            self._add_colours()
        if scope.links:
            self._add_links()
            self._add_arrivals()
        self._add_wirelength()
        if self._timed():
            self._add_cycles()

    def _size(self) -> int:
        """About the number of variables and of literals in clauses."""
        p = self.problem
        if self.scope.places is not None:
            return sum(int(self._carries(net).sum()) for net in self._nets())
        around = sum(int((p.hops <= age + 1).sum()) for age in range(self.scope.longest))
        nets = len(set(p.source.tolist())) * p.links.count * self.scope.longest if self.scope.links else 0
        return p.size * p.tiles + 2 * len(self.crossing) * around // 4 + nets

    # -- places -------------------------------------------------------------------------------------------------------

    def _new(self) -> Any:
        return self.model.new_bool_var("")

    def _add_places(self) -> None:
        """A node has one tile, a tile has one node at most; the anchor sits on one tile of each symmetric class."""
        p, places = self.problem, self.scope.places
        for node in range(p.size):
            check_clock(self.clock)
            for tile in range(p.tiles) if places is None else [places[node]]:
                if p.may_sit(node, tile):
                    self.at[node, tile] = self._new()
        for node in range(p.size):
            self.model.add_exactly_one([self.at[node, t] for t in range(p.tiles) if (node, t) in self.at])
        for tile in range(p.tiles):
            self.model.add_at_most_one([self.at[n, tile] for n in range(p.size) if (n, tile) in self.at])
        degree = np.bincount(np.concatenate([p.source, p.target]), minlength=p.size)
        anchor = int(degree.argmax()) if p.size else -1
        if p.size and places is None:
            tiles = representatives(p.arch)
            self.model.add_bool_or([self.at[anchor, t] for t in tiles if (anchor, t) in self.at])

    def _add_lengths(self) -> None:
        """An edge has one length; its ends are no further apart than that, and on two colours of the right ones."""
        p = self.problem
        colour = p.colour
        for e in self.crossing:
            ages = range(self.scope.longest)
            for age in ages:
                self.age[e, age] = self._new()
            self.model.add_exactly_one([self.age[e, age] for age in ages])
            a, b = int(p.source[e]), int(p.target[e])
            for first, second, distance in ((a, b, p.hops), (b, a, p.hops.T)):
                check_clock(self.clock)
                for tile in range(p.tiles):
                    if (first, tile) in self.at:
                        self._add_reach(e, self.at[first, tile], second, distance[tile], colour, tile)

    def _add_colours(self) -> None:
        """Where all ends are neighbours on a grid of two colours, a connected part of the graph has two sides.

        Follows from the edges one by one; said at once, one choice for each part settles the colour of all its nodes.
        """
        p, colour = self.problem, self.problem.colour
        if colour is None:
            return
        partners: list[list[int]] = [[] for _ in range(p.size)]
        for e in self.crossing:
            partners[p.source[e]].append(int(p.target[e]))
            partners[p.target[e]].append(int(p.source[e]))
        side: dict[int, tuple[Any, bool]] = {}
        for first in range(p.size):
            if first in side:
                continue
            side[first] = (self._new(), True)
            queue = [first]
            for node in queue:
                fresh = [other for other in partners[node] if other not in side]
                side |= dict.fromkeys(fresh, (side[node][0], not side[node][1]))
                queue += dict.fromkeys(fresh)
        for (node, tile), literal in self.at.items():
            flip, same = side[node]
            self.model.add_implication(literal, flip if bool(colour[tile]) == same else flip.negated())

    def _add_reach(self, e: int, here: Any, other: int, distance: Int32s, colour: Any, tile: int) -> None:
        """If one end of edge e is ``here`` and the edge has ``age + 1`` links, the other end is on a tile so near.

        On two colours, of these only the tiles whose colour fits the parity of the length count. ``distance`` is the
        row of hops from ``tile``, in the direction that the edge is looked at.
        """
        # Without links and a limit, the last length stands for all longer ones.
        bounded = self.scope.links or self.scope.wirelength is not None
        for age in range(self.scope.longest - (0 if bounded else 1)):
            near = [
                self.at[other, t]
                for t in range(self.problem.tiles)
                if (other, t) in self.at
                and 0 < distance[t] <= age + 1
                and (colour is None or (age + 1) % 2 == int(colour[t] != colour[tile]))
            ]
            self.model.add_bool_or([here.negated(), self.age[e, age].negated(), *near])

    # -- links --------------------------------------------------------------------------------------------------------

    def _add_links(self) -> None:
        """Who may be on a link: one net at one age, which came from its own tile or over a link that leads there.

        The clauses say where a value comes from, not that it has to be anywhere: :meth:`_add_arrivals` demands it at
        the end of each edge.
        """
        links = self.problem.links
        on_link: list[list[Any]] = [[] for _ in range(links.count)]
        for net in self._nets():
            check_clock(self.clock)
            for link, age in np.argwhere(self._carries(net)).tolist():
                self.used[net, link, age] = self._new()
                on_link[link].append(self.used[net, link, age])
        for literals in on_link:
            self.model.add_at_most_one(literals)
        before: list[list[int]] = [[] for _ in range(links.count)]
        for link in range(links.count):
            for follower in links.following[links.following_at[link] : links.following_at[link + 1]].tolist():
                before[follower].append(link)
        for number, ((net, link, age), literal) in enumerate(self.used.items()):
            if number % 1024 == 0:
                check_clock(self.clock)
            start = self.at.get((net, int(links.source[link])))
            if age:
                ways = ((net, other, age - 1) for other in before[link])
                reasons = [self.used[way] for way in ways if way in self.used]
            else:
                reasons = [start] if start is not None else []
            self.model.add_bool_or([literal.negated(), *reasons])

    def _nets(self) -> list[int]:
        """The nodes whose values cross links."""
        return sorted({int(self.problem.source[e]) for e in self.crossing})

    def _carries(self, net: int) -> NDArray[np.bool_]:
        """(link, age): whether the value of a node can be on a link at that age.

        With settled places the link has to be on a way to a target that is at most ``detour`` links longer than the
        shortest one; otherwise nothing is known.
        """
        p, links, places = self.problem, self.problem.links, self.scope.places
        age = np.arange(self.scope.longest)
        if places is None:
            return np.ones((links.count, len(age)), dtype=np.bool_)
        own = places[net]
        targets = sorted({places[int(p.target[e])] for e in self.crossing if p.source[e] == net})
        hops = p.hops.astype(np.int32)
        left = np.min([hops[links.target, tile] - hops[own, tile] for tile in targets], axis=0)
        begun = hops[own, links.source][:, None] <= age
        return np.asarray(begun & (age + 1 + left[:, None] <= self.scope.detour))

    def _add_arrivals(self) -> None:
        """An edge of ``age + 1`` links with its target on a tile needs its net at that age on a link into the tile."""
        p, links = self.problem, self.problem.links
        entering: list[list[int]] = [[] for _ in range(p.tiles)]
        for link, tile in enumerate(links.target.tolist()):
            entering[tile].append(link)
        for e in self.crossing:
            net, target = int(p.source[e]), int(p.target[e])
            check_clock(self.clock)
            for tile in range(p.tiles):
                if (target, tile) not in self.at:
                    continue
                for age in range(self.scope.longest):
                    ways = [self.used[net, k, age] for k in entering[tile] if (net, k, age) in self.used]
                    self.model.add_bool_or([self.at[target, tile].negated(), self.age[e, age].negated(), *ways])

    def _length(self, e: int) -> Any:
        """Links of an edge beyond the first."""
        return sum(age * self.age[e, age] for age in range(1, self.scope.longest))

    def _add_wirelength(self) -> None:
        """The limit on all links beyond one per edge, and the objective that makes them few."""
        total = sum(self._length(e) for e in self.crossing)
        if self.scope.wirelength is not None and self.crossing:
            self.model.add(total <= self.scope.wirelength)
        if self.scope.aim == "wirelength" and self.crossing and self.scope.longest > 1:
            self.model.minimize(total)

    # -- cycles -------------------------------------------------------------------------------------------------------

    def _timed(self) -> bool:
        """True when issue cycles can be in the way, or are asked for."""
        p, dfg = self.problem, self.problem.dfg
        tied = any(edge.kind in ("order", "pair") for edge in dfg.edges) or bool((p.distance > 0).any())
        limited = self.scope.fifo is not None or bool((p.fifo < UNLIMITED).any())
        return tied or limited or self.scope.aim in ("buffers", "latency")

    @property
    def last_cycle(self) -> int:
        """A cycle that no issue has to be after: the longest chain of the longest edges, and of the deepest FIFOs.

        Issues are bounded by differences: the target of an edge follows its source by latency and links, and where a
        FIFO is limited the source follows the target by the distance. A chain of as many such steps as there are nodes
        is the longest that any of them has to wait for.
        """
        p = self.problem
        ties = [edge.delay for edge in p.dfg.edges if edge.kind in ("order", "pair")]
        forwards = int(p.reach.max(initial=1)) + self.scope.longest + max([0, *ties])
        return p.size * (forwards + int(p.distance.max(initial=0)))

    def _add_cycles(self) -> None:
        """An issue cycle for each node: values arrive before they are needed, by no more than a FIFO takes.

        Limits of single tiles hold only where the target sits on the tile. The objectives are the deepest FIFO or the
        last result.
        """
        p = self.problem
        self.cycle = [self.model.new_int_var(0, self.last_cycle, "") for _ in range(p.size)]
        deepest = self.model.new_int_var(0, self.last_cycle, "") if self.scope.aim == "buffers" else None
        for e in self.crossing:
            a, b = int(p.source[e]), int(p.target[e])
            arrival = self.cycle[a] + int(p.reach[a]) + self._length(e)
            wait = self.cycle[b] + int(p.distance[e]) - arrival
            self.model.add(wait >= 0)
            if self.scope.fifo is not None:
                self.model.add(wait <= self.scope.fifo)
            if deepest is not None:
                self.model.add(wait <= deepest)
            depths = p.fifo[p.operand[e]]
            for tile in np.flatnonzero(depths < UNLIMITED).tolist():
                if (b, tile) in self.at:
                    self.model.add(wait <= int(depths[tile])).only_enforce_if(self.at[b, tile])
        self._add_loops()
        self._add_rules()
        if deepest is not None:
            self.model.minimize(deepest)
        if self.scope.aim == "latency":
            last = self.model.new_int_var(0, 2 * self.last_cycle, "")
            for node in range(p.size):
                self.model.add(last >= self.cycle[node] + int(p.latency[node]))
            self.model.minimize(last)

    def _add_loops(self) -> None:
        """An edge onto its own node waits as its distance says; only tiles with such FIFOs may have the node."""
        p = self.problem
        for e in np.flatnonzero(p.source == p.target).tolist():
            node = int(p.source[e])
            wait = int(p.distance[e] - p.latency[node])
            limit = UNLIMITED if self.scope.fifo is None else self.scope.fifo
            for tile in range(p.tiles):
                if (node, tile) in self.at and not 0 <= wait <= min(limit, int(p.fifo[p.operand[e], tile])):
                    self.model.add_bool_or([self.at[node, tile].negated()])

    def _add_rules(self) -> None:
        """Aligned inputs issue in cycle 0; ``order`` edges bound a distance in time, ``pair`` edges fix it."""
        p, dfg = self.problem, self.problem.dfg
        for node, k in enumerate(p.nodes.tolist()):
            if p.arch.inputs == "aligned" and dfg.nodes[k].op == "input":
                self.model.add(self.cycle[node] == 0)
        for edge in dfg.edges:
            a, b = int(p.number[dfg.index[edge.source]]), int(p.number[dfg.index[edge.target]])
            if edge.kind not in ("order", "pair") or a < 0 or b < 0:
                continue
            apart = self.cycle[b] + edge.distance - self.cycle[a]
            self.model.add(apart == edge.delay if edge.kind == "pair" else apart >= edge.delay)

    # -- solutions ----------------------------------------------------------------------------------------------------

    def position(self, solved: Solved) -> Int32s:
        """The tile of each node."""
        position = np.full(self.problem.size, -1, dtype=np.int32)
        for (node, tile), literal in self.at.items():
            if solved.value(literal):
                position[node] = tile
        return position

    @property
    def routable(self) -> bool:
        """True when a solution says which links edges take: where all ends are neighbours, places alone do."""
        return self.scope.links or (self.scope.longest == 1 and self.scope.wirelength == 0)

    def routes(self, solved: Solved) -> GridRoutes:
        """The links of each edge; each (net, link, age) is followed back one way, so that branches share."""
        p, links = self.problem, self.problem.links
        if not self.scope.links:
            return self._direct(self.position(solved))
        on = {key for key, literal in self.used.items() if solved.value(literal)}
        position = self.position(solved)
        way = np.full((max(1, len(p.edges)), self.scope.longest + 1), -1, dtype=np.int32)
        length = np.zeros(max(1, len(p.edges)), dtype=np.int32)
        carried: set[tuple[int, int]] = set()
        for e in self.crossing:
            net, tile = int(p.source[e]), int(position[p.target[e]])
            age = next(k for k in range(self.scope.longest) if solved.value(self.age[e, k]))
            link = next(k for n, k, d in sorted(on) if n == net and d == age and links.target[k] == tile)
            length[e] = age + 1
            for k in range(age, -1, -1):
                way[e, k] = link
                carried.add((net, link))
                if k:
                    link = next(
                        before
                        for n, before, d in sorted(on)
                        if n == net and d == k - 1 and link in self._following(before)
                    )
        used = np.bincount([link for _, link in carried], minlength=max(1, links.count)).astype(np.int32)
        overuse = int(np.maximum(used - 1, 0).sum())
        return GridRoutes(way, length[: len(p.edges)], used, overuse, 0)

    def _direct(self, position: Int32s) -> GridRoutes:
        """One link for each edge, from its source to the neighbour that its target is on."""
        p, links = self.problem, self.problem.links
        between = {(int(links.source[k]), int(links.target[k])): k for k in range(links.count)}
        way = np.full((max(1, len(p.edges)), 2), -1, dtype=np.int32)
        length = np.zeros(max(1, len(p.edges)), dtype=np.int32)
        for e in self.crossing:
            way[e, 0] = between[int(position[p.source[e]]), int(position[p.target[e]])]
            length[e] = 1
        taken = {int(link) for link in way[:, 0] if link >= 0}
        used = np.bincount(sorted(taken), minlength=max(1, links.count)).astype(np.int32)
        return GridRoutes(way, length[: len(p.edges)], used, 0, 0)

    def _following(self, link: int) -> list[int]:
        """The links that may follow a link."""
        links = self.problem.links
        followers: list[int] = links.following[links.following_at[link] : links.following_at[link + 1]].tolist()
        return followers
