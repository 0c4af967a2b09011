"""SAT-MapIt's output (its log, or ``out.sat``) as mappings.

The log names the graph (the dependences that its constraints are made of), the schedule, and a node for each PE and
slot; the code that follows says where each instruction reads and writes. The mapping has the graph and the schedule,
and the routes of the code: an edge goes through the output register or the register in which the code looks for it.
So ``check`` says whether code, schedule and graph belong together.

The array is OpenEdgeCGRA of the size of the code. Registers that no node of the loop writes keep live-ins. Costs time
linear in the text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.errors import MappingError, SourceError
from gridloom.mapping.model import Hop, Instance, Mapping, Route
from gridloom.text_file import read_text

#: Direction -> rows and columns on the way.
_WAYS: Final = {"RCL": (0, -1), "RCR": (0, 1), "RCT": (-1, 0), "RCB": (1, 0)}
_NODE: Final = re.compile(r"^Id: (\d{1,9}) name: (\w+) time: (\d{1,9}) pe: (\d{1,9}) ", re.M)
_PAIR: Final = re.compile(r"^\[(\d{1,9}), (\d{1,9})\]$", re.M)
_INSTRUCTION: Final = re.compile(r"^([A-Z]\w+)((?: |$).*)$")
_LIMIT: Final = 10_000_000
#: Ops by the name of a node, where the array has rules for them.
_OPS: Final = {"lwi": "load", "swi": "store"}
_CLASSES: Final = {"mul": "mul", "load": "mem", "store": "mem"}
_SELECTS: Final = frozenset({"BSFA", "BZFA"})
#: Instructions whose first operand is no destination.
_READ_ALL: Final = frozenset({"SWI", "SWD", "BEQ", "BNE", "BLT", "BGE", "JUMP"})


@dataclass(frozen=True, slots=True)
class _Placed:
    """A node: its flat cycle and slot, its PE, and the operands and registers of its instruction."""

    id: str
    op: str
    cycle: int
    pe: int
    sources: tuple[str, ...]
    register: str


def read(path: Path) -> Mapping:
    """Return the mapping in a file.

    SourceError for a text of another form; MappingError, with the reason, where the code is none of the graph.
    """
    return _MapperLog(read_text(path, limit=_LIMIT), path.stem, str(path)).mapping()


class _MapperLog:
    """The graph, the schedule and the code of a log."""

    def __init__(self, text: str, name: str, where: str) -> None:
        self.name, self.where = name, where
        blocks = self._code(text)
        named = {row[1]: row for row in _NODE.finditer(text)}
        if not named:
            raise MappingError(f"{where}: has instructions and no graph; the log of the mapper names nodes and edges")
        self.side = math.isqrt(len(blocks[0]))
        solved = text[: self._find(text, "\nSAT\n")]
        self.ii = int(self._field(solved[solved.rfind("\nII: ") :], r"\nII: (\d{1,6})\n"))
        forward, _, back = solved[solved.rfind("Adding C3...") :].partition("Adding back...")
        self.edges = [(source, target, 0) for source, target in _PAIR.findall(forward)]
        self.edges += [(source, target, 1) for source, target in _PAIR.findall(back)]
        begin, end = (int(self._field(text, rf"^Kernel: {pair}")) for pair in (r"(\d{1,6}) - ", r"\d{1,6} - (\d{1,6})"))
        if end - begin + 1 != self.ii or end >= len(blocks):
            raise MappingError(f"the kernel has {end - begin + 1} instructions, and the II is {self.ii}")
        cycles = self._schedule(text)
        self.nodes: dict[str, _Placed] = {}
        for key, row in named.items():
            slot, pe = int(row[3]), int(row[4])
            if key not in cycles or cycles[key] % self.ii != slot or pe >= self.side**2:
                raise MappingError(f"node {key} is in slot {slot} of PE {pe}, and not there in the schedule")
            self.nodes[key] = self._placed(row, cycles[key], blocks[begin + slot][pe])
        lost = {end for edge in self.edges for end in edge[:2]} - self.nodes.keys()
        if lost:
            raise MappingError(f"node {min(lost)} is in the graph and not in the code")

    # -- the text -----------------------------------------------------------------------------------------------------

    def _find(self, text: str, mark: str) -> int:
        """The place of a mark."""
        at = text.find(mark)
        if at < 0:
            raise SourceError(f"has no line {mark.strip()!r}; expected the log of SAT-MapIt", where=self.where)
        return at

    def _field(self, text: str, pattern: str) -> str:
        """The number that follows a word."""
        found = re.search(pattern, text, re.M)
        if found is None:
            raise SourceError(f"has no line like {pattern!r}; expected the log of SAT-MapIt", where=self.where)
        return found[1]

    def _code(self, text: str) -> list[list[str]]:
        """The instructions of each ``T = k``."""
        lines = text[self._find("\n" + text, "\nT = 0\n") :].split("\n")
        blocks: list[list[str]] = []
        for line in lines:
            if line == f"T = {len(blocks)}":
                blocks.append([])
            elif _INSTRUCTION.match(line):
                blocks[-1].append(line)
            else:
                break
        if len({len(block) for block in blocks}) != 1 or math.isqrt(len(blocks[0])) ** 2 != len(blocks[0]):
            raise SourceError("has no square of instructions for each T", where=self.where)
        return blocks

    def _schedule(self, text: str) -> dict[str, int]:
        """Node -> its flat cycle."""
        part = text[self._find(text, "\nSchedule\n[") :]
        rows = part[: part.find("\nTime")].split("\n")[2:]
        return {key: cycle for cycle, row in enumerate(rows) for key in re.findall(r"\d{1,9}", row)}

    def _placed(self, row: re.Match[str], cycle: int, text: str) -> _Placed:
        """A node with its instruction."""
        code, _, rest = text.partition(" ")
        operands = [operand.strip() for operand in rest.split(",")] if rest.strip() else []
        register = "" if code in _READ_ALL or not operands else operands.pop(0)
        if code[0] == "B" and code not in _SELECTS:
            del operands[2:]
        return _Placed(row[1], _OPS.get(row[2], row[2]), cycle, int(row[4]), tuple(operands), register)

    # -- the mapping --------------------------------------------------------------------------------------------------

    def mapping(self) -> Mapping:
        """The mapping. MappingError where an instruction does not read what its node depends on."""
        self.dfg_nodes = {
            node.id: Node(id=node.id, op=node.op, op_class=_CLASSES.get(node.op, "alu")) for node in self.nodes.values()
        }
        self.places = [
            Instance(node=node.id, place=self._tile(node.pe), cycle=node.cycle) for node in self.nodes.values()
        ]
        self.read: list[Edge] = []
        self.routes: list[Route] = []
        for node in self.nodes.values():
            into = [edge for edge in self.edges if edge[1] == node.id]
            for operand, text in enumerate(node.sources):
                self._operand(node, operand, text, into)
            lost = [edge for edge in into if not any((e.source, e.target) == edge[:2] for e in self.read)]
            if lost:
                raise MappingError(
                    f"node {node.id} depends on node {lost[0][0]}, and its instruction on PE {node.pe} reads "
                    f"{', '.join(node.sources)}"
                )
        return Mapping(
            dfg=Dfg(name=self.name, domain="opaque", nodes=tuple(self.dfg_nodes.values()), edges=tuple(self.read)),
            arch=build(f"openedge-cgra:{self.side}x{self.side}"), ii=self.ii, instances=tuple(self.places),
            routes=tuple(self.routes), provenance={"mapper": "SAT-MapIt", "source": Path(self.where).name},
        )  # fmt: skip

    def _operand(self, node: _Placed, operand: int, text: str, into: list[tuple[str, str, int]]) -> None:
        """Add the edge and the route of an operand: from a node, a register that is kept, or a number."""
        tile, place = self._tile(node.pe), f"{self._tile(node.pe)}.in{operand}"
        kept = text[0] == "R" and text[1:].isdecimal()
        from_pe = self._near(node.pe, text) if text in _WAYS else node.pe
        # Of several results of one PE, the latest is there.
        for source, _, distance in sorted(into, key=lambda edge: self.ii * edge[2] - self.nodes[edge[0]].cycle):
            maker = self.nodes[source]
            if maker.pe == from_pe and (text in _WAYS or text in ("ROUT", "SELF") or (kept and maker.register == text)):
                cycle = node.cycle + self.ii * distance
                held = f"{self._tile(from_pe)}.{text.lower() if kept else 'out'}"
                hops: list[Hop] = [(held, at) for at in range(maker.cycle + 1, cycle + 1)]
                hops += [(f"{self._tile(from_pe)}>{tile}", cycle)] if text in _WAYS and from_pe != node.pe else []
                self._add(Edge(source=source, target=node.id, operand=operand, distance=distance),
                          (*hops, (place, cycle)))  # fmt: skip
                return
        if kept:
            key = f"{tile}.{text.lower()}"
            if key not in self.dfg_nodes:
                self.dfg_nodes[key] = Node(id=key, op="livein", variable=key)
                self.places.append(Instance(node=key, place=key))
            self._add(Edge(source=key, target=node.id, operand=operand), ((key, node.cycle), (place, node.cycle)))
        elif text in _WAYS or text in ("ROUT", "SELF"):
            raise MappingError(
                f"node {node.id} reads {text} on PE {node.pe}, which is no result of a node that it depends on"
            )
        else:
            key = f"c{text}"
            self.dfg_nodes[key] = Node(id=key, op="const", value=0 if not text.lstrip("-").isdecimal() else int(text))
            self.read.append(Edge(source=key, target=node.id, operand=operand))

    def _add(self, edge: Edge, hops: tuple[Hop, ...]) -> None:
        """Add an edge and its route."""
        self.routes.append(Route(edge=len(self.read), hops=hops))
        self.read.append(edge)

    def _tile(self, pe: int) -> str:
        """The name of a PE."""
        return f"pe_{pe // self.side}_{pe % self.side}"

    def _near(self, pe: int, way: str) -> int:
        """The PE that a direction leads to."""
        rows, cols = _WAYS[way]
        return (pe // self.side + rows) % self.side * self.side + (pe % self.side + cols) % self.side
