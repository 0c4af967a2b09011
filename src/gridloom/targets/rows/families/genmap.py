"""Reads GenMap's array descriptions (``<PEArray>`` XML) into an Arch.

A PE has an ALU (operations, multiplexer inputs that both operands share) and switching elements (an output is a
multiplexer). Nothing has a latency but the boundaries that ``<PREG vpos>`` names: what goes up across one is registered
where ``settings["pipeline"]`` switches it on. Coordinates are (x, y), row 0 next to the ports. Constant registers are
tiles; ``const_reg="X"`` means immediates. ``inout_port`` means ports that load or store, not both. Bias domains and
multiplexer codes are not kept: they matter to power models and bit streams of those chips only.

The standard library's parser is used, on text that may hold neither a DOCTYPE nor an ENTITY: entities cannot multiply.

GenMap is the genetic mapper of Kojima et al.; its descriptions cover the chips of the Cool Mega Array
(CMA) kind. The text of the description is kept in ``Arch.spec``, without comments, so that a saved mapping can
be read where the file is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from gridloom.archs.model import Arch, ArchBuilder, Kind, Pool, Setting
from gridloom.archs.spec import check_size
from gridloom.dfg.ops import OP_TABLE
from gridloom.errors import ArchError, SourceError
from gridloom.targets.rows.families.vpcma import add_alu, add_constant_register, add_load_port, add_store_port
from gridloom.text_file import integer, line_of, read_text, shown

_LIMIT: Final = 8 * 1024 * 1024
_MAX_PORTS: Final = 1024
_COORDINATE: Final = re.compile(r"\(\s*+([0-9]{1,4})\s*+,\s*+([0-9]{1,4})\s*+\)\Z")
_SIDES: Final = {"NORTH": "n", "EAST": "e", "SOUTH": "s", "WEST": "w"}

Element = ElementTree.Element
Position = tuple[int, int]


def read(path: Path) -> Arch:
    """Return the array of a GenMap XML file; an ArchError names the file and the line or element that is wrong."""
    try:
        text = read_text(path, limit=_LIMIT)
    except SourceError as error:
        raise ArchError(error.message, where=error.where) from None
    return loads(text, str(path))


def loads(text: str, where: str = "array") -> Arch:
    """Return the array that a GenMap XML text describes. Linear in the text."""
    try:
        return build({"family": "genmap", "xml": text})
    except ArchError as error:
        raise error.at(where) from None


def build(spec: Mapping[str, Any]) -> Arch:
    """Return the array of a description ``{"family": "genmap", "xml": text}``, which every array read here carries."""
    text = spec.get("xml")
    if text is None:
        raise ArchError("family genmap is described by a file: name the XML file itself, as in --arch FILE.xml")
    if not isinstance(text, str):
        raise ArchError(f"xml: expected the text of a PEArray description, found {shown(repr(text))}")
    try:
        return _Reader(_root(text), text).arch()
    except SourceError as error:
        raise ArchError(error.message) from None


def _root(text: str) -> Element:
    """Return the root element of an XML text; ArchError names the line of what is not taken."""
    for word in ("<!DOCTYPE", "<!ENTITY"):
        if word in text:
            raise ArchError(f"line {line_of(text, text.index(word))}: {word} is not taken; remove it")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        line, column = error.position
        raise ArchError(f"is not XML: {str(error).partition(':')[0]} at line {line}, column {column + 1}") from None
    except (ValueError, LookupError) as error:
        raise ArchError(f"is not XML: {error}") from None
    if root.tag != "PEArray":
        raise ArchError(f"expected the root element PEArray, found {shown(root.tag)}")
    return root


class _Reader:
    """Adds tiles and resources first, then the arcs that the multiplexer inputs name.

    An arc can only be added when both of its ends exist, and a PE may read any other, so that two passes are needed.
    One reader serves one description; ``arch`` is called once. The size of the grid and the numbers of ports and
    registers are bounded before anything is built.
    """

    def __init__(self, root: Element, text: str) -> None:
        self.root = root
        self.text = text
        self.width = self.number(root, "width")
        self.height = self.number(root, "height")
        check_size(self.height, self.width)
        self.shared_ports = root.get("inout_port") is not None
        self.constants = 0 if root.get("const_reg", "0") == "X" else self.number(root, "const_reg", "0")
        self.loads = self.number(root, "inout_port" if self.shared_ports else "input_port")
        self.stores = self.loads if self.shared_ports else self.number(root, "output_port")
        if max(self.constants, self.loads, self.stores) > _MAX_PORTS:
            raise ArchError(f"PEArray: at most {_MAX_PORTS} ports and constant registers are taken")
        self.boundaries = sorted({self.number(preg, "vpos") for preg in root.findall("PREG")})
        self.builder = ArchBuilder()
        self.pes: dict[Position, Element] = {}
        #: (position, SE id, output name) -> pin
        self.pins: dict[tuple[Position, str, str], str] = {}
        self.routes = False

    def number(self, element: Element, name: str, default: str = "") -> int:
        """Return an attribute that is a number of at least 0."""
        value = integer(element.get(name, default), f"{element.tag}: {name}", "")
        if value < 0:
            raise ArchError(f"{element.tag}: {name} is {value}; expected at least 0")
        return value

    def arch(self) -> Arch:
        """Build the tiles first, then the arcs, and return the array."""
        self.add_pes()
        self.add_ports()
        self.add_constants()
        for position, pe in self.pes.items():
            self.connect_pe(position, pe)
        self.connect_outputs()
        registered = len(self.boundaries)
        pipeline = Setting(name="pipeline", length=registered, summary="registers between rows")
        return self.builder.build(
            name=self.root.get("name") or "genmap",
            style="static",
            rows=self.height,
            cols=self.width,
            spec={"family": "genmap", "xml": compact(self.text)},
            settings=(pipeline,) if registered else (),
            free=frozenset({"const", "livein"}) if self.root.get("const_reg") == "X" else frozenset(),
            inputs="aligned",
            rules=("outputs_together",),
            route_uses_fu=self.routes,
            traits=self.traits(),
        )

    def traits(self) -> frozenset[str]:
        """Return the traits: rows where there are ports on both ends, and 24-bit words where the ALUs have such ops."""
        found = {"rows"} if self.loads and self.stores else set()
        operations = _operations(next(iter(self.pes.values())))
        if found and operations <= OP_TABLE["cma24"].keys():
            found |= {"words24"} if "mult" in operations else {"words24", "partial"}
        return frozenset(found)

    # -- tiles and resources ----------------------------------------------------------------------------------------

    def add_pes(self) -> None:
        """Add the PEs, after checking that each position of the grid has exactly one."""
        for pe in self.root.findall("PE"):
            position = self.position(pe)
            if position in self.pes:
                raise ArchError(f"PE {position} is given twice")
            if position[0] >= self.width or position[1] >= self.height:
                raise ArchError(f"PE {position} is outside the array of {self.width} x {self.height}")
            self.pes[position] = pe
        missing = [(x, y) for y in range(self.height) for x in range(self.width) if (x, y) not in self.pes]
        if missing:
            raise ArchError(f"PE {missing[0]} is missing; expected {self.width} x {self.height} of them")
        # Row by row, as our own families number their tiles, whatever the order in the file.
        self.pes = {(x, y): self.pes[x, y] for y in range(self.height) for x in range(self.width)}
        first = next(iter(self.pes.values()))
        for position, pe in self.pes.items():
            self.add_pe(position, pe, _operations(first))

    def add_pe(self, position: Position, pe: Element, expected: frozenset[str]) -> None:
        """Add one PE with its ALU and its switching elements; all PEs must have the same operations."""
        x, y = position
        alu = pe.find("ALU")
        if alu is None:
            raise ArchError(f"PE {position}: has no ALU")
        operations = _operations(pe)
        if operations != expected:
            raise ArchError(f"PE {position}: its operations differ from those of PE (0, 0), which is not taken")
        routes = any(operation.get("route", "").lower() == "true" for operation in alu.findall("operation"))
        self.routes = self.routes or routes
        classes = _classes(operations) | ({"route"} if routes else set())
        lacks = frozenset({"mult"}) - operations if operations <= OP_TABLE["cma24"].keys() else frozenset[str]()
        tile = add_alu(self.builder, y, x, frozenset(classes), routes=routes, lacks=lacks)
        for number, (switch, output) in enumerate(_switch_outputs(pe)):
            self.add_switch(position, tile, number, switch, output)

    def add_switch(self, position: Position, tile: int, number: int, switch: str, output: str) -> None:
        """Add one output of a switching element; outputs that are named after a side of the PE keep that name."""
        x, y = position
        pin = "_".join(_SIDES.get(part, part.lower()) for part in output.removeprefix("OUT_").split("_"))
        if f"pe_{y}_{x}.{pin}" in self.builder.index:
            pin = f"se{switch}_{pin}"
        side = "nesw".find(pin)
        self.pins[position, switch, output] = pin
        self.builder.add(f"pe_{y}_{x}.{pin}", Kind.SWITCH, tile, position=side if side >= 0 else number)

    def add_ports(self) -> None:
        """Add load and store ports; a port that loads or stores, but not both, is a pool of two tiles."""
        places = self.port_places()
        for k in range(self.loads):
            add_load_port(self.builder, k, *places("IN_PORT", k))
        for k in range(self.stores):
            store = add_store_port(self.builder, k, *places("OUT_PORT", k))
            if self.shared_ports:
                self.builder.pools.append(
                    Pool(
                        name=f"port_{k}",
                        capacity=1,
                        tiles=(store - self.loads, store),
                        classes=frozenset({"input", "output"}),
                    )
                )

    def port_places(self) -> Any:
        """Return a function that gives a port its row and column: loads stand next to the grid, stores one further.

        Ports of one side are lined up in the order of the file. A port that the file does not describe stands at the
        bottom, in the column of its number.
        """
        sides: dict[tuple[str, int], tuple[str, int]] = {}
        for tag in ("IN_PORT", "OUT_PORT"):
            count: dict[str, int] = {}
            for element in self.root.findall(tag):
                side = element.get("pos", "bottom")
                sides[tag, self.number(element, "index")] = (side, count.get(side, 0))
                count[side] = count.get(side, 0) + 1

        def place(tag: str, k: int) -> tuple[int, int]:
            """Return the row and the column of port ``k``; ArchError for a side that does not exist."""
            side, number = sides.get((tag, k), ("bottom", k))
            away = 1 if tag == "IN_PORT" else 2
            places = {
                "bottom": (-away, number),
                "top": (self.height - 1 + away, number),
                "left": (number, -away),
                "right": (number, self.width - 1 + away),
            }
            if side not in places:
                raise ArchError(f"{tag} {k}: pos is {shown(side)}; expected bottom, top, left or right")
            return places[side]

        return place

    def add_constants(self) -> None:
        """Add the constant registers that some multiplexer reads."""
        reached = {
            self.number(element, "index")
            for pe in self.pes.values()
            for element in pe.iter("input")
            if element.get("type") == "Const"
        }
        for k in sorted(reached):
            if k >= self.constants:
                raise ArchError(f"constant register {k} is read, but const_reg is {self.constants}")
            add_constant_register(self.builder, k, self.height)

    # -- arcs -------------------------------------------------------------------------------------------------------

    def connect_pe(self, position: Position, pe: Element) -> None:
        """Add the arcs into the operands and the switch outputs of a PE."""
        x, y = position
        alu = pe.find("ALU")
        for element in alu.findall("input") if alu is not None else ():
            for pin in ("in0", "in1"):
                self.connect(element, f"pe_{y}_{x}.{pin}", y)
        for switch in pe.findall("SE"):
            for output in switch.findall("output"):
                pin = self.pins[position, switch.get("id", "0"), output.get("name", "")]
                for element in output.findall("input"):
                    self.connect(element, f"pe_{y}_{x}.{pin}", y)

    def connect_outputs(self) -> None:
        """Add the arcs into the store ports."""
        for port in self.root.findall("OUT_PORT"):
            k = self.number(port, "index")
            if k >= self.stores:
                raise ArchError(f"OUT_PORT {k} is described, but there are {self.stores} output ports")
            for element in port.findall("input"):
                self.connect(element, f"store_{k}.in0", None)

    def connect(self, element: Element, target: str, row: int | None) -> None:
        """Add the arc from what an ``<input>`` names to a resource; ``row`` is None outside the grid.

        The arc is gated by the pipeline register between the two rows, if there is one. An arc that crosses two of them
        would need two gates, which an arc does not have.
        """
        source, source_row = self.source(element, target)
        gates = []
        if row is not None and source_row is not None:
            gates = [k for k, boundary in enumerate(self.boundaries) if source_row < boundary <= row]
        if len(gates) > 1:
            raise ArchError(f"{source} -> {target} crosses {len(gates)} pipeline registers; expected at most one")
        index = self.builder.index
        self.builder.arc(index[source], index[target], 0, gates[0] if gates else -1)

    def source(self, element: Element, target: str) -> tuple[str, int | None]:
        """Return the resource that an ``<input>`` names, and its row where it lies within the grid."""
        kind = element.get("type", "")
        if kind in ("IN_PORT", "Const"):
            k = self.number(element, "index")
            name = f"load_{k}.out" if kind == "IN_PORT" else f"const_{k}.fu"
            if name not in self.builder.index:
                raise ArchError(f"input of {target}: there is no {kind} {k}")
            return name, None
        if kind not in ("ALU", "SE"):
            raise ArchError(f"input of {target}: type is {shown(kind)}; expected ALU, SE, Const or IN_PORT")
        x, y = position = self.position(element)
        if position not in self.pes:
            raise ArchError(f"input of {target}: there is no PE {position}")
        if kind == "ALU":
            return f"pe_{y}_{x}.out", y
        output = (position, element.get("id", "0"), element.get("src_name", ""))
        if output not in self.pins:
            raise ArchError(f"input of {target}: PE {position} has no output {output[2]} of SE {output[1]}")
        return f"pe_{y}_{x}.{self.pins[output]}", y

    def position(self, element: Element) -> Position:
        """Return the (x, y) of an element's ``coord``."""
        text = element.get("coord", "")
        match = _COORDINATE.match(text)
        if match is None:
            raise ArchError(f"{element.tag}: coord is {shown(text)}; expected (x, y)")
        return int(match.group(1)), int(match.group(2))


def compact(text: str) -> str:
    r"""Return XML text without comments and indentation, as a saved mapping embeds it.

    >>> compact("<PEArray>\n  <!-- the ports -->\n  <PREG vpos='1'/>\n</PEArray>")
    "<PEArray>\n<PREG vpos='1'/>\n</PEArray>"
    """
    parts: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        parts.append(text[position:start])
        end = text.find("-->", start)
        position = end + 3 if end >= 0 else len(text)
    parts.append(text[position:])
    return "\n".join(line.strip() for line in "".join(parts).split("\n") if line.strip())


def _switch_outputs(pe: Element) -> Iterator[tuple[str, str]]:
    """Yield the id of the switching element and the name of each output of a PE."""
    for switch in pe.findall("SE"):
        for output in switch.findall("output"):
            name = output.get("name", "")
            if not name:
                raise ArchError(f"PE {pe.get('coord')}: an output of SE {switch.get('id')} has no name")
            yield switch.get("id", "0"), name


def _operations(pe: Element) -> frozenset[str]:
    """Return the operations of a PE's ALU, in lower case."""
    return frozenset((operation.text or "").strip().lower() for operation in pe.findall("ALU/operation"))


def _classes(operations: frozenset[str]) -> set[str]:
    """Return the op classes of an ALU: one for 24-bit ops, else those of the 32-bit table; unknown ``f*`` are fp."""
    if operations <= OP_TABLE["cma24"].keys():
        return {"alu"}
    table = OP_TABLE["i32"]
    known = {table[name].op_class for name in operations if name in table}
    floating = {"fp" for name in operations if name not in table and name.startswith("f")}
    return known | floating


def read_spec(text: str) -> Arch | None:
    """Return the array of an ARCH that is a GenMap file, and None for other texts."""
    return read(Path(text)) if text.endswith(".xml") else None
