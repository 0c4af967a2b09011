"""Small pieces of Verilog text: wires, ports, concatenations, instances and modules.

Functions return lines without indentation; :func:`module` indents the body. Every connection is by name, since lists by
position break silently when a primitive gets a new port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def wire(width: int, name: str, value: str = "") -> str:
    """Return a wire declaration, with what drives it.

    >>> wire(1, "fire"), wire(8, "sum", "a + b")
    ('wire fire;', 'wire [7:0] sum = a + b;')
    """
    span = f"[{width - 1}:0] " if width > 1 else ""
    return f"wire {span}{name}{f' = {value}' if value else ''};"


def ring_wires(lines: list[str], ring: bool = True) -> list[str]:
    """Return wire declarations; where the wires form rings, with what tells Verilator that this is meant.

    The links of crossbars form rings of multiplexers, as they do on the chip; a legal configuration leaves each of them
    open, which no tool can see in the wires alone.

    >>> ring_wires(["wire a;"], False)
    ['wire a;']
    """
    off, on = "// verilator lint_off UNOPTFLAT", "// verilator lint_on UNOPTFLAT"
    return [off, *lines, on] if ring and lines else lines


def concatenate(words: Sequence[str]) -> str:
    """Return a concatenation whose first word is in the lowest bits.

    >>> concatenate(["a"]), concatenate(["low", "high"])
    ('a', '{high, low}')
    """
    return words[0] if len(words) == 1 else "{" + ", ".join(reversed(words)) + "}"


def instance(module: str, name: str, parameters: Mapping[str, object], ports: dict[str, str]) -> list[str]:
    """Return the lines of a module instance, every connection by name.

    >>> instance("gl_delay", "late", {"W": 8, "CYCLES": 2}, {"clk": "clk", "word": "a", "delayed": "b"})
    ['gl_delay #(', '    .W(8), .CYCLES(2)', ') late (', '    .clk(clk), .word(a), .delayed(b)', ');']
    """
    lines = [f"{module} #("] if parameters else [f"{module} {name} ("]
    if parameters:
        lines += wrap_items([f".{key}({value})" for key, value in parameters.items()])
        lines.append(f") {name} (")
    lines += wrap_items([f".{key}({value})" for key, value in ports.items()])
    return [*lines, ");"]


def wrap_items(items: Iterable[str], width: int = 108) -> list[str]:
    """Return items with commas between them, as many per line as fit, indented.

    >>> wrap_items(["a", "b", "c"], width=5)
    ['    a, b,', '    c']
    """
    lines: list[str] = []
    current = ""
    listed = list(items)
    for k, item in enumerate(listed):
        piece = item + ("," if k + 1 < len(listed) else "")
        if current and len(current) + 1 + len(piece) > width:
            lines.append(f"    {current}")
            current = piece
        else:
            current = f"{current} {piece}".strip()
    return [*lines, f"    {current}"] if current else lines


def module(name: str, comment: Iterable[str], ports: Sequence[str], body: Iterable[str], parameters: str = "") -> str:
    """Return the text of a module; every port has a line of its own.

    ``ports`` and ``body`` are lines without indentation; ``comment`` is written above the module.

    >>> print(module("buffer", ["A wire."], ["input a", "output b"], ["assign b = a;"]), end="")
    // A wire.
    module buffer (
        input a,
        output b
    );
        assign b = a;
    endmodule
    """
    head = [f"// {line}".rstrip() for line in comment]
    head.append(f"module {name}{f' #({parameters})' if parameters else ''} (")
    listed = [f"    {port}{',' if k + 1 < len(ports) else ''}" for k, port in enumerate(ports)]
    inner = [f"    {line}".rstrip() for line in body]
    return "\n".join([*head, *listed, ");", *inner, "endmodule", ""])


def ring_port(declaration: str, ring: bool) -> str:
    """Return the declaration of a port; one that is part of a ring is marked as meant, like the wires of rings.

    >>> ring_port("output wire to_0", True)
    '/* verilator lint_off UNOPTFLAT */ output wire to_0 /* verilator lint_on UNOPTFLAT */'
    """
    return (
        f"/* verilator lint_off UNOPTFLAT */ {declaration} /* verilator lint_on UNOPTFLAT */" if ring else declaration
    )


def port(direction: str, width: int, name: str) -> str:
    """Return a port declaration, aligned with others.

    >>> port("input", 1, "clk"), port("output", 8, "sum")
    ('input  wire          clk', 'output wire [7:0]    sum')
    """
    span = f"[{width - 1}:0]" if width > 1 else ""
    return f"{direction:<6} wire {span:<8} {name}"


def bit(name: str, index: int, width: int) -> str:
    """Return one bit of a signal; the signal itself where it is one bit wide.

    >>> bit("settings", 3, 8), bit("settings", 0, 1)
    ('settings[3]', 'settings')
    """
    return f"{name}[{index}]" if width > 1 else name
