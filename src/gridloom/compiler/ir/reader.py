"""LLVM IR text into records, with llvmlite.

llvmlite checks the text and gives instructions, operands and constants; compare predicates, element types, branch
targets and metadata it does not offer, so these are read off each instruction's line of the printed module.

An instruction of llvmlite is paired with its printed line by position: the n-th instruction of a function is its n-th
line. That the counts agree is checked, so that a change of LLVM's printing is an error and not a wrong graph.
Metadata (``!dbg``, ``!tbaa``, ``!llvm.loop``) is resolved from the definitions at the end of the text.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Final

from gridloom.compiler.ir.c_source import CSource, source_of
from gridloom.compiler.ir.distinct import declare_distinct, mark_distinct
from gridloom.compiler.ir.driver import compile_program
from gridloom.compiler.ir.ir import (
    BasicBlock,
    Constant,
    Function,
    Global,
    GlobalAddress,
    Instruction,
    IrModule,
    IrParameter,
    LoopSpan,
    Opaque,
    Value,
)
from gridloom.compiler.ir.layout import DataLayout, split_types
from gridloom.compiler.ir.metadata import Metadata, MetadataRecord, reference, split_metadata
from gridloom.compiler.ir.tokens import first_name, is_number, leading_digits, plain, split_tokens
from gridloom.errors import MissingExtra, SourceError, install_hint

MAX_INSTRUCTIONS: Final = 20_000
#: Functions of a file; each costs the same again, however short it is.
MAX_FUNCTIONS: Final = 2_000

#: How the comment of a front end begins that names a function which it left out.
_REFUSED: Final = "; gridloom refused "
_POINTER_FLAGS: Final = ("inbounds ", "nuw ", "nusw ", "inrange(")
_FLAG_WORDS: Final = frozenset({"samesign", "fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"})


def read_module(text: str, where: str) -> IrModule:
    """The functions, globals and loop spans of an IR text. Linear in its length.

    Needs llvmlite. SourceError where its LLVM does not know what a newer clang writes, and for too many functions.
    """
    if (functions := text.count("\ndefine ")) > MAX_FUNCTIONS:
        raise SourceError(f"has {functions} functions; at most {MAX_FUNCTIONS} are taken", where=where)
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise MissingExtra(f"C sources need llvmlite: {install_hint('c')}") from None
    try:
        parsed = llvm.parse_assembly(text)
    except RuntimeError as error:
        first = str(error).strip().splitlines()[0]
        version = ".".join(map(str, llvm.llvm_version_info[:2]))
        raise SourceError(
            f"the compiler's IR cannot be read: {first}; a clang newer than llvmlite's LLVM {version} may write what "
            f"that does not know: {install_hint('c')} brings a pair that fits",
            where=where,
        ) from None
    module = _Reader(parsed, where).module()
    module.refused = _refused(text)
    return module


def _refused(text: str) -> dict[str, tuple[int, str]]:
    """The functions that a front end left out, by the comments that it wrote."""
    rows = [json.loads(line.removeprefix(_REFUSED)) for line in text.splitlines() if line.startswith(_REFUSED)]
    return {name: (line, reason) for name, line, reason in rows}


class _Reader:
    """Reads one parsed module; holds what instructions refer to.

    ``values`` maps llvmlite's values to records. llvmlite compares values by their address in LLVM, so one value met
    twice is one record.
    """

    def __init__(self, parsed: Any, where: str) -> None:
        self.parsed = parsed
        self.where = where
        self.text = str(parsed)
        self.metadata = Metadata(self.text)
        self.structs = _structs(self.text)
        self.layout = DataLayout(self.structs)
        self.values: dict[Any, Value] = {}
        self.globals: dict[str, Global] = {}
        self.spans: dict[Instruction, LoopSpan] = {}
        self.variables: dict[tuple[str, str], str] = {}

    def module(self) -> IrModule:
        """The records of the whole module."""
        for variable in self.parsed.global_variables:
            self.globals[variable.name] = self.values[variable] = self._global(variable)
        bodies = _function_lines(self.text)
        self.variables = self._variables()
        functions = {}
        for function in self.parsed.functions:
            if not function.is_declaration:
                functions[function.name] = self._function(function, bodies[function.name])
        before, after = _outer_lines(self.text)
        return IrModule(functions, self.globals, self.structs, self.spans, before=before, after=after)

    def _variables(self) -> dict[tuple[str, str], str]:
        """(Function, value) -> the variable of the source that the value is, where a debug record says so."""
        named: dict[tuple[str, str], str] = {}
        function = ""
        for line in self.text.splitlines():
            if line.startswith("define "):
                function = _called(line)
            if not line.lstrip().startswith("#dbg_value("):
                continue
            value, number, expression, *_ = [*line.partition("(")[2].split(", "), "", "", ""]
            variable = self.metadata[reference(number)].text("name")
            if variable.isidentifier() and expression == "!DIExpression()" and " %" in value:
                named.setdefault((function, plain(value.partition(" %")[2])), variable)
        return named

    def _global(self, variable: Any) -> Global:
        """The record of a global variable, with the text of its initializer."""
        line = str(variable)
        constant = " constant " in line.split("=", 1)[1].split("[", 1)[0].split("{", 1)[0]
        kind = str(variable.global_value_type)
        initializer = line.split(kind, 1)[1] if kind in line else ""
        return Global(variable.name, kind, initializer.strip(), constant)

    def _function(self, function: Any, lines: tuple[str, list[str]]) -> Function:
        """The record of a function.

        ``noalias`` is C's ``restrict``, ``dereferenceable(n)`` the promise of an array parameter with ``static``.
        SourceError where llvmlite and the printed text disagree, or the function is too long.
        """
        head, body = lines
        arguments: list[IrParameter] = []
        for argument in function.arguments:
            words = {bytes(a).decode() for a in argument.attributes}
            promised = [word[16:-1] for word in words if word.startswith("dereferenceable(")]
            record = IrParameter(
                name=argument.name or f"arg{len(arguments)}",
                type=str(argument.type),
                apart="noalias" in words,
                unsigned="zeroext" in words,
                bytes=max(map(int, promised), default=0),
            )
            arguments.append(record)
            self.values[argument] = record
        raw = [(block, list(block.instructions)) for block in function.blocks]
        count = sum(len(row) for _, row in raw)
        if count != len(body):
            raise SourceError(
                f"function {function.name!r}: its IR has {count} instructions but prints {len(body)} lines",
                where=self.where,
            )
        if count > MAX_INSTRUCTIONS:
            raise SourceError(
                f"function {function.name!r} has {count} instructions; at most {MAX_INSTRUCTIONS} are taken",
                where=self.where,
            )
        return self._fill(function, head, arguments, raw, body)

    def _fill(
        self, function: Any, head: str, arguments: list[IrParameter], raw: list[Any], body: list[str]
    ) -> Function:
        """The blocks of a function: first all instructions, then their operands, which may come later in the text."""
        names = _block_names(raw, body)
        pairs: list[tuple[Any, Instruction]] = []
        blocks: dict[str, BasicBlock] = {}
        position = 0
        for (_, row), name in zip(raw, names):
            records = []
            for item in row:
                record = self._instruction(item, body[position], name, position)
                record.variable = self.variables.get((function.name, record.name), "")
                self.values[item] = record
                records.append(record)
                pairs.append((item, record))
                position += 1
            blocks[name] = BasicBlock(name, records)
        for item, record in pairs:
            operands = [self._operand(o) for o in item.operands if o.value_kind.name != "basic_block"]
            # The last operand of a call is what it calls.
            record.operands = operands[:-1] if record.opcode == "call" else operands
            if record.opcode == "switch":
                record.operands = [operands[0], *_cases(record)]
            record.pieces, record.slots = split_line(record)
        _drop_unreachable(blocks)
        internal = head.split()[1] in ("internal", "private")
        return Function(function.name, self._line_of(head), arguments, blocks, internal, head)

    def _instruction(self, item: Any, line: str, block: str, position: int) -> Instruction:
        """The record of an instruction without its operands: what its printed line and metadata say.

        An instruction without a name gets one from its opcode and position, which is unique in the function.
        """
        text, notes = split_metadata(line)
        name = plain(_own_name(text)) or f"{item.opcode}.{position}"
        record = Instruction(name, str(item.type), item.opcode, text, block)
        record.metadata = line[len(text) :]
        record.line = self.metadata[notes.get("dbg")].number("line") or 0
        record.access_type = self._access_type(notes.get("tbaa"))
        _read_text(record)
        if "llvm.loop" in notes:
            span = self._span(notes["llvm.loop"])
            if span:
                self.spans[record] = span
        return record

    def _operand(self, operand: Any) -> Value:
        """The value of an operand: one that is known, or a constant.

        Constants hold patterns: an integer with its sign, a single as 32 bits. What is neither (an address computed
        from two globals, a vector) becomes ``Opaque``, which is refused only where something needs it.
        """
        known = self.values.get(operand)
        if known is not None:
            return known
        kind = operand.value_kind.name
        type_ = str(operand.type)
        if kind == "constant_int":
            # llvmlite sees 64-bit words: narrower numbers come without their sign.
            return Constant(type_, _signed(int(operand.get_constant_value()), int(type_[1:])))
        if kind == "constant_fp" and type_ == "float":
            number = operand.get_constant_value(round_fp=True)
            return Constant(type_, struct.unpack("<i", struct.pack("<f", number))[0])
        if kind in ("undef_value", "poison_value"):
            return Constant(type_, 0, undefined=True)
        if kind == "constant_pointer_null":
            return Constant(type_, 0)
        text = str(operand)
        if kind == "constant_expr" and (place := _global_offset(text)) is not None and place[0] in self.globals:
            return GlobalAddress(self.globals[place[0]], place[1])
        return Opaque(type_, text[:80])

    # -- metadata ---------------------------------------------------------------------------------------------------

    def _line_of(self, head: str) -> int:
        """The source line of a function, from its define line."""
        return self.metadata[reference(f"!{leading_digits(head.partition('!dbg !')[2])}")].number("line") or 0

    def _access_type(self, number: int | None) -> str:
        """The scalar type name of a tbaa tag; char and anything unclear may overlap all others: "" ."""
        tag = self.metadata[number].items
        name = self.metadata[reference(tag[1])].items[:1] if len(tag) > 1 else ()
        word = plain(name[0][1:]) if name and name[0].startswith('!"') else ""
        return "" if word == "omnipotent char" else word

    def _span(self, number: int) -> LoopSpan | None:
        """The first and the last line of a loop by its ``!llvm.loop`` metadata; None where clang noted no lines."""
        records = (self.metadata[k] for k in self.metadata[number].references)
        places = [record for record in records if record.kind == "!DILocation"]
        lines = [place.number("line") or 0 for place in places]
        return LoopSpan(lines[0], lines[-1], self._file(places[0])) if lines else None

    def _file(self, record: MetadataRecord) -> str:
        """The file that a location or a scope is in, without its folders."""
        while record.fields and "file" not in record.fields:
            record = self.metadata[record.reference("scope")]
        return self.metadata[record.reference("file")].text("filename").rpartition("/")[2]


def _structs(text: str) -> dict[str, str]:
    """Named struct types, with the texts of their bodies."""
    rows = (line[1:].partition(" = type ") for line in text.splitlines() if line.startswith("%"))
    return {plain(name): body for name, _, body in rows if body.startswith(("{", "<{"))}


def _own_name(line: str) -> str:
    """The name that an instruction's line gives its result; "" where it has none."""
    line = line.lstrip()
    name = first_name(line[1:]) if line.startswith("%") else ""
    return name if line.startswith(" = ", 1 + len(name)) else ""


def _called(line: str) -> str:
    """The first name of a line that a bracket follows: what it calls or defines."""
    for part in line.split("@")[1:]:
        name = first_name(part)
        if name and part.startswith("(", len(name)):
            return plain(name)
    return ""


def _global_offset(text: str) -> tuple[str, int] | None:
    """The global and the bytes of ``getelementptr (i8, ptr @x, i32 4)``; None for another expression."""
    tokens = split_tokens(text)
    if "getelementptr" not in tokens:
        return None
    tokens = tokens[tokens.index("getelementptr") :]
    match tokens[tokens.index("(") :] if "(" in tokens else []:
        case ["(", "i8", ",", "ptr", place, ",", _, offset, ")"] if place.startswith("@") and is_number(offset):
            return plain(place[1:]), int(offset)
    return None


def _cases(switch: Instruction) -> list[Constant]:
    """The values of a switch. Read off its text: LLVM 22 no longer has them among the operands."""
    words = {"true": 1, "false": 0}
    rows = [part.split()[-2:] for part in switch.text.partition("[")[2].split(", label %")[:-1]]
    return [Constant(kind, words[text] if text in words else int(text)) for kind, text in rows]


def _drop_unreachable(blocks: dict[str, BasicBlock]) -> None:
    """Leave out the ways to blocks that control never reaches: the default of a switch that has all its cases.

    Such an edge would otherwise be an exit of the loop, and a loop with two exits is refused.
    """
    never = {name for name, block in blocks.items() if block.terminator.opcode == "unreachable"}
    for block in blocks.values():
        item = block.terminator
        if item.opcode == "switch":
            if item.targets[0] in never and len(item.targets) > 1:
                # The last case is what remains when all others are out.
                item.targets[0] = item.targets.pop()
                item.operands.pop()
            kept = [k for k, target in enumerate(item.targets) if not k or target not in never]
            item.operands = [item.operands[k] for k in kept]
            item.targets = [item.targets[k] for k in kept]
        elif item.opcode == "br" and len(item.targets) == 2 and set(item.targets) & never:
            item.targets = [target for target in item.targets if target not in never] or item.targets[:1]
            item.operands = []


def _signed(value: int, bits: int) -> int:
    """The low bits of a number as a signed one; a single bit stays 0 or 1."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) and bits > 1 else value


def _function_lines(text: str) -> dict[str, tuple[str, list[str]]]:
    """Function name -> (its define line, one line for each instruction in order).

    Labels, comments and debug records are passed over; the lines of a switch's cases are joined to its own.
    """
    functions: dict[str, tuple[str, list[str]]] = {}
    body: list[str] | None = None
    for line in text.splitlines():
        if body is None:
            if line.startswith("define "):
                body = []
                functions[_called(line)] = (line, body)
        elif line == "}":
            body = None
        elif line.startswith("  ") and not line.lstrip().startswith((";", "#dbg")):
            # A switch prints a line for each case, closed by a bracket of its own.
            if body and (line.startswith("    ") or line.strip().startswith("]")):
                body[-1] += line
            else:
                body.append(line)
    return functions


def _outer_lines(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines outside of functions: types, globals and declarations; attributes and metadata."""
    before: list[str] = []
    after: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = inside or line.startswith("define ")
        if not inside and line and not line.startswith(";"):
            (after if line.startswith(("attributes ", "!")) else before).append(line)
        inside = inside and line != "}"
    return tuple(before), tuple(after)


def split_line(item: Instruction) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The line of an instruction around the operands with names, and which operands those are.

    Nothing where the line does not have them in order; what depends on it refuses the instruction.
    """
    line = item.text.partition(" = ")[2] if item.type != "void" else item.text.strip()
    pieces: list[str] = []
    slots: list[int] = []
    # A type may be named as a value is: the operands of an address stand behind it.
    end = len(line.partition(", ptr ")[0]) if item.opcode == "getelementptr" else 0
    start = 0
    for k, operand in enumerate(item.operands):
        if not isinstance(operand, IrParameter | Instruction):
            continue
        name = f"%{operand.name}"
        end = line.find(name, end)
        while end >= 0 and line[end + len(name) : end + len(name) + 1] not in ("", " ", ",", ")", "]"):
            end = line.find(name, end + 1)
        if end < 0:
            return (), ()
        pieces.append(line[start:end])
        slots.append(k)
        start = end = end + len(name)
    return (*pieces, line[start:]), tuple(slots)


def _block_names(raw: list[Any], body: list[str]) -> list[str]:
    """Names of the blocks; those that LLVM only numbers get the number that branches print.

    LLVM numbers unnamed arguments, blocks and values in one sequence, so the count has to follow the text.
    """
    names = [block.name for block, _ in raw]
    if all(names):
        return names
    # Unnamed blocks take a slot in the one sequence of unnamed values, in the order of the text.
    numbers: list[str] = []
    slot, position = 0, 0
    for name, (_, row) in zip(names, raw):
        if not name:
            numbers.append(str(slot))
            slot += 1
        else:
            numbers.append(name)
        for _ in row:
            named = _own_name(body[position])
            if named.isdigit():
                slot = int(named) + 1
            position += 1
    return numbers


def _read_text(record: Instruction) -> None:
    """Fill in what llvmlite does not offer, from the printed line: predicates, blocks, element types, callees."""
    text = record.text
    if record.opcode in ("icmp", "fcmp"):
        words = text.split(f" {record.opcode} ", 1)[1].split()
        record.predicate = next(word for word in words if word not in _FLAG_WORDS)
    elif record.opcode == "phi":
        pairs = (part.partition(" ]")[0] for part in text.split("[ ")[1:])
        record.incoming = [plain(pair.rpartition(", %")[2]) for pair in pairs]
    elif record.opcode in ("br", "switch"):
        record.targets = [plain(first_name(part)) for part in text.split("label %")[1:]]
    elif record.opcode == "getelementptr":
        rest = text.split("getelementptr ", 1)[1]
        while rest.startswith(_POINTER_FLAGS):
            rest = rest.partition(") " if rest.startswith("inrange(") else " ")[2]
        record.source_type = rest[: rest.index(", ptr ")]
    elif record.opcode in ("load", "store"):
        record.align = int(leading_digits(text.rpartition(", align ")[2]) or 0)
    elif record.opcode == "alloca":
        record.source_type = split_types(text.partition("alloca ")[2].removeprefix("inalloca "))[0]
    elif record.opcode == "call":
        record.callee = _called(text)


def module_of(
    source: Path | CSource, function: str | None = None, *, singles: bool = False, distinct: bool = False
) -> IrModule:
    """The records of a C program or a ``.mlir`` file, as clang leaves them after optimisation.

    ``function`` and ``singles`` are for MLIR: only that function and its callees have to be taken, and every f64 is
    read as f32. With ``distinct``, the arrays of the function's parameters do not overlap. SourceError where a file
    does not compile or its named function is refused. Costs 0.1 to 0.8 s.
    """
    program = source_of(source)
    path = program.path
    warnings: tuple[str, ...] = ()
    if path.suffix == ".mlir":
        from gridloom.compiler.mlir import compile_to_ir as lower

        text = lower(path, function=function, singles=singles)
    elif singles:
        raise SourceError("f64=f32 is for MLIR; in C, write float for double", where=str(path))
    else:
        made = compile_program(program)
        text, warnings = made.ir, made.warnings
    module = read_module(declare_distinct(text, function, path) if distinct else text, str(path))
    module.refused, module.warnings = _refused(text), warnings
    return mark_distinct(module, function) if distinct else module
