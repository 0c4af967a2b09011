"""The arrays that a loop touches: one word for each element, found from how its accesses step through memory.

Accesses of one size at multiples of it make an array of such elements, whatever its dimensions. Accesses of several
sizes are members of structs: each member becomes an array of its own, with one word for each struct.

The graph has arrays of words that are indexed by element, where C has bytes that are addressed by pointers. The
accesses of one base pointer are grouped here, the size and stride of the elements follow from their linear forms, and
the length from the declaration, from the user or from a default.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gridloom.compiler.analysis.evolution import Form
from gridloom.compiler.c.address import Address, Base, Pointers
from gridloom.compiler.c.lower import width
from gridloom.compiler.ir.ir import Global, Instruction, IrParameter
from gridloom.compiler.ir.layout import DataLayout, split_types
from gridloom.compiler.ir.tokens import decode_bytes, is_number
from gridloom.compiler.loops.operations import readable
from gridloom.errors import OptionError, SourceError

#: Words of an array whose length the source does not give; as many again after the largest fixed offset.
DEFAULT_LENGTH = 1024
MAX_OFFSET = 1 << 20

# Instructions that read an element, and whether they take it for a signed one.
_SIGNED_USES = {"sext": True, "sitofp": True, "ashr": True, "sdiv": True, "srem": True,
                "zext": False, "uitofp": False, "lshr": False, "udiv": False, "urem": False}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CArray:
    """An array of the graph and where its words are in C's memory.

    Word k stands for the ``size`` bytes at ``offset + k * stride`` of what ``base`` points to. Words of 8- and 16-bit
    elements hold the element's value, with its sign where ``signed``.
    """

    name: str
    base: str
    size: int
    stride: int
    offset: int = 0
    length: int
    signed: bool = True
    #: What a table of the source holds; None when the caller gives the contents.
    contents: tuple[int, ...] | None = None

    @property
    def range(self) -> tuple[int, int]:
        """The values that an element can have."""
        bits = 8 * self.size
        return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if self.signed or bits == 32 else (0, (1 << bits) - 1)


@dataclass(slots=True, eq=False)
class Access:
    """A load or a store of the loop.

    ``address`` keeps the symbols that the graph shares; ``place`` is the same form expanded over the innermost
    symbols, with which distances are proved. ``array`` and ``part`` are set by :meth:`Arrays.group`, ``node`` when
    the access is translated.
    """

    item: Instruction
    address: Address
    place: Form
    size: int
    is_store: bool
    array: CArray | None = None
    #: Bytes into the element, for a load of a part of it.
    part: int = 0
    #: The node that does it.
    node: str = ""


def find_accesses(
    items: Sequence[Instruction], pointers: Pointers, where: Callable[[Instruction], str]
) -> list[Access]:
    """Every load and store, in program order.

    ``where`` gives the place of an instruction for errors.
    """
    accesses = []
    for item in items:
        if item.opcode in ("load", "store"):
            _refuse_special(item, where)
            pointer = item.operands[-1]
            kind = item.type if item.opcode == "load" else item.operands[0].type
            if kind == "i64":
                raise SourceError(
                    "an array has 64-bit elements, and a stream brings 32-bit words; use two arrays",
                    where=where(item),
                )
            if kind == "ptr":
                raise SourceError("the loop loads or stores a pointer; index arrays instead", where=where(item))
            try:
                bits = max(width(kind), 8)
                address = pointers.resolve(pointer)
            except SourceError as error:
                raise error if error.where else error.at(where(item)) from None
            place = pointers.expand(address.bytes)
            accesses.append(Access(item, address, place, bits // 8, item.opcode == "store"))
    return accesses


def readers_of(items: Sequence[Instruction]) -> Callable[[Instruction], Sequence[Instruction]]:
    """The instructions among some that read an instruction, as a function of it."""
    users: dict[Instruction, list[Instruction]] = {}
    for item in items:
        for operand in item.operands:
            if isinstance(operand, Instruction):
                users.setdefault(operand, []).append(item)
    return lambda item: users.get(item, [])


def _refuse_special(item: Instruction, where: Callable[[Instruction], str]) -> None:
    """Raise SourceError for volatile and atomic accesses."""
    for word in (" volatile ", " atomic "):
        if word in item.text:
            raise SourceError(f"the loop has{word}accesses, which an array cannot keep", where=where(item))


class Arrays:
    """Groups accesses into arrays; ``sizes`` gives lengths by name.

    ``declared`` holds the arrays by name, ``bases`` the pointer that each of them starts from.
    """

    def __init__(
        self, layout: DataLayout, pointers: Pointers, sizes: Mapping[str, int], where: Callable[[Instruction], str]
    ) -> None:
        self.layout = layout
        self.pointers = pointers
        self.sizes = dict(sizes)
        self.where = where
        self.declared: dict[str, CArray] = {}
        self.bases: dict[str, Base] = {}

    def group(self, accesses: Sequence[Access], users: Callable[[Instruction], Sequence[Instruction]]) -> None:
        """Give each access its array.

        ``users`` gives the readers of an instruction, which decide whether small elements are signed. SourceError where
        the bytes of one array are used in sizes that do not fit together, OptionError for a size of an unknown array.
        """
        by_base: dict[Base, list[Access]] = {}
        for access in accesses:
            by_base.setdefault(access.address.base, []).append(access)
        for base, rows in by_base.items():
            self._split(base, rows, users)
        unknown = set(self.sizes) - set(self.declared) - {array.base for array in self.declared.values()}
        if unknown:
            known = ", ".join(self.declared) or "none"
            raise OptionError(f"size of {min(unknown)!r}: the loop has no array of that name; it has: {known}")

    def _split(self, base: Base, rows: list[Access], users: Callable[[Instruction], Sequence[Instruction]]) -> None:
        """Declare the arrays of one base pointer: one of elements, one for each member of a struct, or one of parts.

        The cases are tried from the simplest on. Accesses of one size at multiples of it are elements. Offsets that
        repeat with a stride and never share a byte are members. Narrow loads inside wider elements are parts, which
        are shifted out of the loaded word. Anything else is memory that two types share, which an array of words
        cannot express.
        """
        size = rows[0].size
        steps = [c * self.pointers.unit(s) for row in rows for s, c in row.place.terms.items()]
        if all(row.size == size and row.place.constant % size == 0 for row in rows) and all(
            c % size == 0 for c in steps
        ):
            self._declare(base, rows, "", size, size, 0, users)
            return
        ends = max(row.place.constant + row.size for row in rows)
        # Without a step every access is at a fixed place of one struct, whose size is rounded up.
        stride = math.gcd(*steps) if steps else 1 << (max(ends, 1) - 1).bit_length()
        members: dict[int, list[Access]] = {}
        for row in rows:
            members.setdefault(row.place.constant % max(stride, 1), []).append(row)
        if all(row.size == size and row.place.constant % size == 0 and _is_aligned(row.item, size) for row in rows):
            # Bytes that the loop computes, by a condition or a mask: C keeps them on elements, and so do we.
            self._declare(base, rows, "", size, size, 0, users)
        elif _are_members(stride, members):
            for offset, member in sorted(members.items()):
                self._declare(base, member, f"_{offset}", member[0].size, stride, offset, users)
        elif _are_parts(rows, steps):
            widest = max(row.size for row in rows)
            self._declare(base, rows, "", widest, widest, 0, users)
        else:
            raise SourceError(
                "it uses the same bytes as elements of different sizes; give each kind of element its own array",
                where=self.where(rows[0].item),
            )

    def _declare(
        self, base: Base, rows: list[Access], suffix: str, size: int, stride: int, offset: int,
        users: Callable[[Instruction], Sequence[Instruction]],
    ) -> None:  # fmt: skip
        """Declare one array and give it to its accesses."""
        stem = readable(base.name)
        # Two bases may have one readable name: a parameter and a global, or two unnamed values.
        name = stem + suffix
        while name in self.declared:
            name += "_"
        contents = self._contents(base, size, stride, offset)
        array = CArray(
            name=name, base=stem, size=size, stride=stride, offset=offset,
            length=self._length(name, base, stride, rows), signed=_is_signed(rows, size, users), contents=contents,
        )  # fmt: skip
        # Signs are known only after the readers have voted.
        if contents is not None and not array.signed:
            array = _with_contents(array, contents)
        self.declared[name] = array
        self.bases[name] = base
        for row in rows:
            row.array = array
            row.part = row.place.constant % size if row.size < size else 0
            row.place = Form(row.place.constant - row.part, row.place.terms)

    def _length(self, name: str, base: Base, stride: int, rows: Sequence[Access]) -> int:
        """Words of an array: as given, as its declaration says, or the default beyond the largest fixed offset."""
        given = self.sizes.get(name, self.sizes.get(readable(base.name)))
        if given is not None:
            return given
        if isinstance(base, Global):
            return max(self.layout.size(base.contents_type) // stride, 1)
        if isinstance(base, IrParameter) and base.bytes:
            return max(base.bytes // stride, 1)
        if isinstance(base, Instruction) and base.opcode == "alloca":
            return max(self.layout.size(base.source_type) // stride, 1) if base.source_type else DEFAULT_LENGTH
        # A fixed offset leads to elements that an array of the default length may not have; a huge one is the part of
        # an index that wraps around.
        offsets = [row.place.constant // stride for row in rows]
        return DEFAULT_LENGTH + max([0, *(offset for offset in offsets if offset <= MAX_OFFSET)])

    def _contents(self, base: Base, size: int, stride: int, offset: int) -> tuple[int, ...] | None:
        """The words of a constant table; None for anything that may change."""
        if not isinstance(base, Global) or not base.constant:
            return None
        image = initial_bytes(base, self.layout)
        if image is None:
            return None
        starts = range(offset, len(image) - size + 1, stride)
        return tuple(int.from_bytes(image[k : k + size], "little", signed=True) for k in starts)


def _is_aligned(item: Instruction, size: int) -> bool:
    """True when clang knows that an access is aligned to the size."""
    return bool(item.align) and item.align % size == 0


def _are_members(stride: int, members: Mapping[int, list[Access]]) -> bool:
    """True when accesses of several sizes never share a byte."""
    end = 0
    for offset, rows in sorted(members.items()):
        sizes = {row.size for row in rows}
        if len(sizes) > 1 or offset < end or offset + max(sizes) > stride:
            return False
        end = offset + max(sizes)
    return True


def _are_parts(rows: Sequence[Access], steps: Sequence[int]) -> bool:
    """True when the smaller accesses read parts of the widest elements: clang loads only the bytes that are used."""
    size = max(row.size for row in rows)
    if any(step % size for step in steps):
        return False
    return all(row.place.constant % size + row.size <= size and (row.size == size or not row.is_store) for row in rows)


def _with_contents(array: CArray, contents: tuple[int, ...]) -> CArray:
    """The array with its contents read as unsigned elements."""
    from dataclasses import replace

    mask = (1 << (8 * array.size)) - 1
    return replace(array, contents=tuple(word & mask if array.size < 4 else word for word in contents))


def _is_signed(rows: list[Access], size: int, users: Callable[[Instruction], Sequence[Instruction]]) -> bool:
    """How most readers extend the elements; bytes that are only written are taken for unsigned.

    LLVM's integers have no sign, so the instructions that read a loaded value vote: extensions, divisions,
    comparisons. The choice changes no result, since narrow values are extended wherever it matters; it decides
    whether that costs an op.
    """
    if size == 4:
        return True
    votes = [0, 0]
    for row in rows:
        for user in users(row.item) if not row.is_store else ():
            if user.opcode in _SIGNED_USES:
                votes[_SIGNED_USES[user.opcode]] += 1
            elif user.opcode == "icmp" and user.predicate not in ("eq", "ne"):
                votes[user.predicate.startswith("s")] += 1
            elif user.opcode == "call" and user.callee.startswith("llvm."):
                votes[not user.callee.startswith("llvm.u")] += 1
    return votes[1] > votes[0] or (votes[1] == votes[0] and size != 1)


def initial_bytes(base: Global, layout: DataLayout) -> bytes | None:
    """What a table of the source holds, byte for byte; None where the initializer has something other than numbers.

    Integers, singles, strings and nested arrays and structs of them are read, with the padding that the layout gives
    them.
    """
    try:
        image = bytearray(layout.size(base.contents_type))
    except SourceError:
        # A struct that only its own file describes.
        return None
    scalars = layout.scalars(base.contents_type)
    text = base.initializer
    if text.startswith("zeroinitializer"):
        return bytes(image)
    words: list[str] = []
    if not _scalar_texts(_balanced(text), layout, base.contents_type, words) or len(words) != len(scalars):
        return None
    for (offset, kind), word in zip(scalars, words):
        size = layout.size(kind)
        image[offset : offset + size] = _scalar_bytes(kind, word, size)
    return bytes(image)


def _balanced(text: str) -> str:
    """The initializer without the attributes that follow it."""
    depth = 0
    quoted = False
    for k, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        if not quoted:
            depth += (character in "[{<") - (character in "]}>")
            if depth == 0 and character == ",":
                return text[:k].strip()
    return text.strip()


def _scalar_texts(text: str, layout: DataLayout, kind: str, words: list[str]) -> bool:
    """Append the text of every scalar; False for what is not a number.

    Strings inside structs or nested arrays that contain commas or brackets are not split correctly, and count as
    unknown contents.
    """
    if text == "zeroinitializer" or text in ("undef", "poison"):
        words += ["0"] * len(layout.scalars(kind))
        return True
    if text.startswith('c"'):
        words += map(str, decode_bytes(text[2:-1]))
        return True
    if text.startswith(("[", "{", "<{")):
        inner = text.strip("<>").strip()[1:-1]
        return all(_scalar_texts(_after_type(part), layout, _type_of(part), words) for part in split_types(inner))
    words.append(text)
    return is_number(text) or text in ("true", "false") or text.startswith("0x") or _is_decimal(text)


def _is_decimal(text: str) -> bool:
    """True for a number with an exponent, as LLVM writes exact singles and doubles."""
    digits, _, exponent = text.partition("e")
    whole, _, fraction = digits.partition(".")
    return is_number(whole) and fraction.isdecimal() and is_number(exponent.removeprefix("+"))


def _type_of(part: str) -> str:
    """The type of a typed constant: ``i32`` of ``i32 7``."""
    return part[: len(part) - len(_after_type(part))].strip()


def _after_type(part: str) -> str:
    """The text of a typed constant behind its type."""
    depth = 0
    for k, character in enumerate(part):
        depth += (character in "[{<") - (character in "]}>")
        if depth == 0 and character == " ":
            return part[k + 1 :]
    return part


def _scalar_bytes(kind: str, word: str, size: int) -> bytes:
    """The bytes of one number of an initializer, little-endian."""
    if kind == "float":
        # LLVM prints singles as decimal or as the pattern of the double of the same value.
        number = struct.unpack(">d", int(word, 16).to_bytes(8, "big"))[0] if word.startswith("0x") else float(word)
        return struct.pack("<f", number)
    number = {"true": 1, "false": 0}.get(word)
    value = int(word, 0) if number is None else number
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
