"""neura's configurations (``tmp-generated-instructions.yaml``, which VectorCGRA's RTL runs as well) as mappings.

The file says what each core does in each slot of the II: operations with the registers and directions that they read
and write. It has no edges. They are found backwards from what is read: a direction has what the neighbour drove one
cycle earlier, a register what was written to it last. ``DATA_MOV`` and ``CTRL_MOV`` belong to routes.

The array is a mesh whose crossbars pass one link per cycle, with a register at each link, 32 registers in each core,
and memory in the first row and column. Immediates are parts of an operation. Costs time linear in operands times the
moves of a route.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gridloom.archs.spec import build
from gridloom.dfg.model import Dfg, Edge, Node
from gridloom.errors import MappingError, OptionError, SourceError
from gridloom.mapping.model import Hop, Instance, Mapping, Route
from gridloom.yaml_text import parse_yaml, read_yaml_file

#: Direction -> rows and columns on the way; row 0 is the southern one.
_WAYS: Final = {"NORTH": (1, 0), "EAST": (0, 1), "SOUTH": (-1, 0), "WEST": (0, -1)}
_BACK: Final = {"NORTH": "SOUTH", "SOUTH": "NORTH", "EAST": "WEST", "WEST": "EAST"}
_MOVES: Final = frozenset({"DATA_MOV", "CTRL_MOV"})
_PHIS: Final = frozenset({"PHI", "PHI_START"})
_MEMORY: Final = frozenset({"LOAD", "STORE", "LOAD_INDEXED", "STORE_INDEXED"})
_REGISTERS: Final = 32
#: Rows and columns that are read, and operands of an operation.
_MOST: Final = 64
_OPERANDS: Final = 4

#: (row, column) of a core.
Core = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Operation:
    """One operation of a core: its slot and cycle, and where its operands come from and its result goes."""

    id: str
    opcode: str
    core: Core
    slot: int
    cycle: int
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Whether it is a part of a route."""
        return self.opcode in _MOVES

    def __str__(self) -> str:
        return f"{self.opcode} (id {self.id}) on core {self.core[1]},{self.core[0]}"


def read(path: Path) -> Mapping:
    """Return the mapping in a file.

    SourceError for a file of another form; MappingError, with the reason, where the configuration is no mapping.
    """
    try:
        data = parse_yaml(read_yaml_file(path), str(path))
    except OptionError as error:
        raise SourceError(error.message, where=error.where) from None
    return _Configuration(data, path.stem, str(path)).mapping()


class _Configuration:
    """The operations of a file, and what drives each register and direction."""

    def __init__(self, data: dict[str, Any], name: str, where: str) -> None:
        self.name, self.where = name, where
        config = self._part(data, "array_config", dict, "the file")
        self.rows, self.cols = (self._number(config, key, "array_config", 1, _MOST) for key in ("rows", "columns"))
        if "compiled_ii" not in config:
            raise MappingError(f"{where}: array_config names no compiled_ii, without which slots have no order")
        self.ii = self._number(config, "compiled_ii", "array_config", 1, 4096)
        self.operations = list(self._operations(config))
        #: (core, register or direction) -> slot -> the operation that writes it.
        self.writers: dict[tuple[Core, str], dict[int, _Operation]] = {}
        for operation in self.operations:
            for target in operation.targets:
                slots = self.writers.setdefault((operation.core, target), {})
                other = slots.setdefault(operation.slot, operation)
                if other is not operation:
                    raise MappingError(f"{other} and {operation} both drive {target} in slot {operation.slot}")

    # -- the file -----------------------------------------------------------------------------------------------------

    def _part(self, data: Any, key: str, kind: type, owner: str) -> Any:
        """A part of the file."""
        found = data.get(key) if isinstance(data, dict) else None
        if found is None and kind is list and isinstance(data, dict):
            return []
        if not isinstance(found, kind):
            raise SourceError(f"{owner} has no {key}; expected neura's instructions", where=self.where)
        return found

    def _number(self, data: Any, key: str, owner: str, least: int, most: int) -> int:
        """A number of the file."""
        value = self._part(data, key, int, owner)
        if not least <= value <= most:
            raise SourceError(f"{key} of {owner} is {value}; expected {least} to {most}", where=self.where)
        return int(value)

    def _operations(self, config: dict[str, Any]) -> Iterator[_Operation]:
        """The operations of all cores."""
        seen: set[str] = set()
        for core in self._part(config, "cores", list, "array_config"):
            at = (self._number(core, "row", "a core", 0, self.rows - 1),
                  self._number(core, "column", "a core", 0, self.cols - 1))  # fmt: skip
            for entry in self._part(core, "entries", list, "a core"):
                for line in self._part(entry, "instructions", list, "an entry"):
                    for row in self._part(line, "operations", list, "an instruction"):
                        found = self._operation(line, row, at)
                        if found.id in seen and not found.moves:
                            raise SourceError(f"two operations have the id {found.id}", where=self.where)
                        seen.add(found.id)
                        yield found

    def _operation(self, line: Any, row: Any, core: Core) -> _Operation:
        """One operation. A result goes to registers and directions; other operands are immediates."""
        slot = self._number(line, "index_per_ii", "an instruction", 0, self.ii - 1)
        opcode = self._part(row, "opcode", str, "an operation")
        cycle = self._number(row, "time_step", opcode, 0, 1 << 20)
        if cycle % self.ii != slot:
            raise MappingError(f"{opcode} of cycle {cycle} is in slot {slot} of II {self.ii}")
        texts = [
            [str(operand.get("operand")) for operand in self._part(row, key, list, opcode) if isinstance(operand, dict)]
            for key in ("src_operands", "dst_operands")
        ]
        for text in [*texts[1], *(text for text in texts[0] if text.startswith("$"))]:
            register = int(text[1:]) if text.startswith("$") and text[1:].isdecimal() else -1
            if text not in _WAYS and not 0 <= register < _REGISTERS:
                raise SourceError(f"{opcode} has the operand {text!r}; expected a register or direction",
                                  where=self.where)  # fmt: skip
        return _Operation(
            str(self._number(row, "id", opcode, 0, 1 << 40)), opcode, core, slot, cycle, *map(tuple, texts)
        )

    # -- the mapping --------------------------------------------------------------------------------------------------

    def mapping(self) -> Mapping:
        """The mapping. MappingError where an operand has no source, or that of another iteration."""
        edges: list[Edge] = []
        routes: list[Route] = []
        for reader in self.operations:
            wired = [text for text in reader.sources if text in _WAYS or text.startswith("$")]
            for operand, text in enumerate(wired if not reader.moves else ()):
                source, steps = self._trace(reader, text)
                # What is read was issued so many cycles earlier, in this iteration or one before.
                distance, rest = divmod(source.cycle - reader.cycle + steps[0][1], self.ii)
                assert rest == 0, "slots agree with cycles"
                if distance < 0:
                    raise MappingError(
                        f"{reader} reads {text}, in which iterations overwrite the result of {source} before it is read"
                    )
                if distance > 0 and reader.opcode not in _PHIS:
                    raise MappingError(f"{reader} reads the result of {source} of an iteration before, and is no phi")
                cycle = reader.cycle + self.ii * distance
                place = f"pe_{reader.core[0]}_{reader.core[1]}.in{operand}"
                hops: list[Hop] = [(name, cycle - age) for name, age in steps[1:]]
                edges.append(Edge(source=source.id, target=reader.id, operand=operand, distance=distance))
                routes.append(Route(edge=len(edges) - 1, hops=(*hops, (place, cycle))))
        nodes = [operation for operation in self.operations if not operation.moves]
        dfg = Dfg(
            name=self.name, domain="opaque", edges=tuple(edges),
            nodes=tuple(Node(id=node.id, op=node.opcode.lower(), op_class=_class(node.opcode)) for node in nodes),
        )  # fmt: skip
        places = (Instance(node=node.id, place="pe_{}_{}".format(*node.core), cycle=node.cycle) for node in nodes)
        return Mapping(
            dfg=dfg, arch=self._array(), ii=self.ii, instances=tuple(places), routes=tuple(routes),
            provenance={"mapper": "neura", "source": Path(self.where).name},
        )  # fmt: skip

    def _array(self) -> Any:
        """The array of the file."""
        memory = [[0, col] for col in range(self.cols)] + [[row, 0] for row in range(1, self.rows)]
        return build({
            "family": "hycube", "rows": self.rows, "cols": self.cols, "hops": 1, "latched": True,
            "regs": _REGISTERS, "moves": False, "bus": "dedicated", "operands": _OPERANDS, "memory": {"tiles": memory},
        })  # fmt: skip

    def _trace(self, reader: _Operation, text: str) -> tuple[_Operation, list[tuple[str, int]]]:
        """What an operand reads, and the resources that it is in: each with the cycles before the read.

        The first entry is the issue of the source.
        """
        steps: list[tuple[str, int]] = []
        core, slot, age = reader.core, reader.slot, 0
        passed: set[_Operation] = set()
        while True:
            writer, wait = self._writer(core, slot, text, reader)
            tile = "pe_{}_{}".format(*writer.core)
            if text in _WAYS:
                steps.append((f"{tile}>pe_{core[0]}_{core[1]}", age))
            else:
                steps += [(f"{tile}.r{text[1:]}", age + k) for k in range(wait)]
            if not writer.moves:
                return writer, [("", age + wait), *steps[::-1]]
            if writer in passed:
                raise MappingError(f"{reader} reads {text}, which goes round in moves")
            passed.add(writer)
            text, core, slot, age = writer.sources[0] if writer.sources else "", writer.core, writer.slot, age + wait

    def _writer(self, core: Core, slot: int, text: str, reader: _Operation) -> tuple[_Operation, int]:
        """The operation that an operand comes from, and how many cycles before it was issued."""
        if text in _WAYS:
            rows, cols = _WAYS[text]
            near = (core[0] + rows, core[1] + cols)
            found = self.writers.get((near, _BACK[text]), {}).get((slot - 1) % self.ii)
            if found is None:
                raise MappingError(f"{reader} reads {text} in slot {slot} of core {core[1]},{core[0]}, "
                                   "which nothing drives")  # fmt: skip
            return found, 1
        slots = self.writers.get((core, text), {})
        if not slots:
            raise MappingError(f"{reader} reads {text} of core {core[1]},{core[0]}, which nothing writes")
        wait = min((slot - k - 1) % self.ii for k in slots) + 1
        return slots[(slot - wait) % self.ii], wait


def _class(opcode: str) -> str:
    """The class of an operation."""
    return "mem" if opcode in _MEMORY else "alu"
