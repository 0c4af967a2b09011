"""A Morpher description flattened to ports and connections, with the ports taken out that only pass on what they get.

Nodes are paths (``PE_X1_Y0.FU0.DP0_I1``). What stays is what the model of an array knows: operands and results of
function units, registers, links between places, and wires that choose between several sources.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal

from gridloom.errors import ArchError
from gridloom.targets.modulo.families.morpher.modules import TOP, MorpherModule

NodeKind = Literal["wire", "register", "operand", "result", "link"]

#: Modules inside each other: more is a mistake, and would end in a recursion without end.
_DEEPEST = 12


class Netlist:
    """The ports of a whole array: ``kind`` of each node, ``place`` it belongs to, ``drivers`` of each node.

    ``operands`` lists the operand inputs of each place in their order, ``ops`` the ops of its function unit, and
    ``module`` names the module there. ``banks`` has for each memory bank its bytes, and the place at each of its ports.
    ArchError for a place with more than one function unit or data path, for a memory inside a place, and for
    connections between ports that do not exist.
    """

    def __init__(self, modules: Mapping[str, MorpherModule]) -> None:
        self.modules = modules
        self.kind: dict[str, NodeKind] = {}
        self.place: dict[str, str] = {}
        self.drivers: dict[str, list[str]] = defaultdict(list)
        self.operands: dict[str, list[str]] = defaultdict(list)
        self.result: dict[str, str] = {}
        self.ops: dict[str, Mapping[str, int]] = {}
        self.unit_module: dict[str, str] = {}
        self.banks: dict[str, tuple[int, dict[str, str]]] = {}
        self._sockets: set[str] = set()
        top = modules[TOP]
        for instance in top.instances:
            module = modules[instance.module]
            size = self._memory_of(module)
            # A wrapper holds memories alone; a place with more than that is no bank.
            if size and all(modules[i.module].memory for i in module.instances):
                self.banks[instance.name] = (size, {})
                continue
            self._visit(modules[instance.module], instance.name, instance.name, 1)
        for source, target in top.connections:
            self._link(source, target)
        self._reduce()

    def successors(self) -> dict[str, list[str]]:
        """Return what each node drives."""
        table: dict[str, list[str]] = {node: [] for node in self.kind}
        for target, sources in self.drivers.items():
            for source in sources:
                table[source].append(target)
        return table

    # -- flattening ---------------------------------------------------------------------------------------------------

    def _add(self, node: str, kind: NodeKind, place: str) -> None:
        """Add a node; ArchError for a port that is named twice."""
        if node in self.kind:
            raise ArchError(f"{node}: the port is defined twice")
        self.kind[node] = kind
        self.place[node] = place
        self.drivers[node] = []

    def _visit(self, module: MorpherModule, path: str, place: str, depth: int) -> None:
        """Add the ports of a module and of all inside it, then its connections."""
        if depth > _DEEPEST:
            raise ArchError(f"{module.name}: modules are nested too deeply, or contain themselves")
        if self._memory_of(module):
            raise ArchError(f"{module.name}: a memory inside a place cannot be expressed")
        self._sockets |= {f"{path}.{port}" for port in module.sockets}
        for port in (*module.inputs, *module.outputs, *module.internals):
            self._add(f"{path}.{port}", "wire", place)
        for register in module.registers:
            self._add(f"{path}.{register}", "register", place)
        if module.ops:
            self._unit(module, path, place)
        else:
            for instance in module.instances:
                self._visit(self.modules[instance.module], f"{path}.{instance.name}", place, depth + 1)
        for source, target in module.connections:
            self._connect(f"{path}.{source}", f"{path}.{target}")

    def _memory_of(self, module: MorpherModule) -> int:
        """The bytes of a memory, or of the memories right inside a module that wraps them; 0: there is none."""
        return (module.memory or 0) + sum(self.modules[i.module].memory or 0 for i in module.instances)

    def _unit(self, module: MorpherModule, path: str, place: str) -> None:
        """Add the data path of a function unit: its inputs are operands, its one output is the result."""
        if place in self.ops:
            raise ArchError(f"{place}: a place with more than one function unit cannot be expressed")
        if len(module.instances) != 1:
            raise ArchError(f"{module.name}: expected one data path, found {len(module.instances)}")
        self.ops[place] = module.ops
        self.unit_module[place] = module.name
        data = self.modules[module.instances[0].module]
        inside = f"{path}.{module.instances[0].name}"
        if len(data.outputs) != 1 or data.instances or data.registers:
            raise ArchError(f"{data.name}: expected a data path with one output and nothing inside")
        for port in data.inputs:
            self._add(f"{inside}.{port}", "operand", place)
            self.operands[place].append(f"{inside}.{port}")
        self._add(f"{inside}.{data.outputs[0]}", "result", place)
        self.result[place] = f"{inside}.{data.outputs[0]}"
        self._sockets |= {f"{inside}.{port}" for port in data.sockets}

    def _connect(self, source: str, target: str) -> None:
        """Add a connection; those of memory sockets carry no values of the network."""
        if source in self._sockets or target in self._sockets:
            return
        for node in (source, target):
            if node not in self.kind:
                raise ArchError(f"{node}: a connection names this port, which does not exist")
        if source not in self.drivers[target]:
            self.drivers[target].append(source)

    def _link(self, source: str, target: str) -> None:
        """Add a connection of the top module: a link where it leads from one place to another, or a port of a bank."""
        for bank, place in ((source, target), (target, source)):
            name, _, port = bank.partition(".")
            if name in self.banks:
                self.banks[name][1][port] = place.partition(".")[0]
                return
        known = source in self.kind and target in self.kind
        if not known or self.place[source] == self.place[target]:
            self._connect(source, target)
            return
        link = f"{source}>{target}"
        if link not in self.kind:
            self._add(link, "link", self.place[source])
            self.drivers[link].append(source)
            self.drivers[target].append(link)

    # -- reduction ----------------------------------------------------------------------------------------------------

    def _reduce(self) -> None:
        """Take out ports without sources or readers, and ports that only repeat what drives them."""
        self._prune()
        for node in [node for node, kind in self.kind.items() if kind == "wire"]:
            sources = self.drivers[node]
            if len(sources) == 1 and sources[0] != node:
                self._replace(node, sources)
        after = self.successors()
        for node, kind in list(self.kind.items()):
            sources = self.drivers[node]
            if kind in ("operand", "link") and len(sources) == 1 and self.kind[sources[0]] == "wire":
                wire = sources[0]
                if after[wire] == [node]:
                    self._replace(wire, self.drivers[wire])
        self._separate()

    def _prune(self) -> None:
        """Remove wires, links and registers that nothing drives or that drive nothing, until none is left."""
        changed = True
        while changed:
            after = self.successors()
            idle = [
                node
                for node, kind in self.kind.items()
                if kind in ("wire", "link", "register") and (not self.drivers[node] or not after[node])
            ]
            self._remove(idle)
            changed = bool(idle)

    def _remove(self, nodes: Iterable[str]) -> None:
        """Remove nodes with all their connections."""
        gone = set(nodes)
        for node in gone:
            del self.kind[node], self.place[node], self.drivers[node]
        for target, sources in self.drivers.items():
            self.drivers[target] = [source for source in sources if source not in gone]

    def _replace(self, node: str, sources: list[str]) -> None:
        """Take a node out: what it drove is driven by its sources."""
        for target, drivers in self.drivers.items():
            if node in drivers and target != node:
                rest = [d for d in drivers if d != node]
                self.drivers[target] = rest + [s for s in sources if s not in rest]
        del self.kind[node], self.place[node], self.drivers[node]

    def _separate(self) -> None:
        """Put a wire before each register that a result or another register drives: only wires write registers."""
        for node, kind in list(self.kind.items()):
            if kind != "register":
                continue
            for source in list(self.drivers[node]):
                if self.kind[source] in ("result", "register"):
                    wire = f"{node}<{source.rpartition('.')[2]}"
                    self._add(wire, "wire", self.place[node])
                    self.drivers[wire] = [source]
                    self.drivers[node] = [wire if s == source else s for s in self.drivers[node]]
