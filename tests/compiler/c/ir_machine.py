"""Runs a compiled C function with its loop replaced by the graph: what surrounds the loop is executed from the IR.

Whenever control reaches the loop, its iterations are counted (and its accesses traced) by executing the IR on a copy,
then the graph runs for that many iterations on the real memory. What the function returns and leaves in memory is
compared with the same function compiled for this machine.
"""

from __future__ import annotations

import copy
import struct
from dataclasses import dataclass, field

import numpy as np

from gridloom.compiler.c.arrays import initial_bytes
from gridloom.compiler.c.c_loop import CLoop
from gridloom.compiler.ir.ir import Constant, Function, Global, GlobalAddress, Instruction, IrModule, IrParameter
from gridloom.compiler.ir.layout import DataLayout
from gridloom.dfg.interpreter import Interpreter, Stimulus

MAX_STEPS = 2_000_000
#: What streams bring for an element that the loop does not touch.
UNTOUCHED = 77


def wrap(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half if bits > 1 else value & 1


def bits_of(kind: str) -> int:
    return int(kind[1:]) if kind.startswith("i") else 32


def single(pattern: int) -> np.float32:
    return np.frombuffer(struct.pack("<i", wrap(pattern, 32)), np.float32)[0]


def pattern(value: np.floating | float) -> int:
    number = np.float32(value)
    if np.isnan(number):
        return 0x7FC00000
    return int(np.frombuffer(number.tobytes(), np.int32)[0])


class Remainder(Exception):
    """An unrolled graph runs whole iterations only."""


@dataclass
class Memory:
    """Bytes by object."""

    objects: dict[str, bytearray]

    def load(self, place: tuple[str, int], kind: str) -> int:
        size = max(bits_of(kind), 8) // 8
        data = self.objects[place[0]]
        assert 0 <= place[1] <= len(data) - size, f"load outside {place}"
        return wrap(int.from_bytes(data[place[1] : place[1] + size], "little", signed=True), bits_of(kind))

    def store(self, place: tuple[str, int], value: int, kind: str) -> None:
        size = max(bits_of(kind), 8) // 8
        data = self.objects[place[0]]
        assert 0 <= place[1] <= len(data) - size, f"store outside {place}"
        data[place[1] : place[1] + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


@dataclass
class Touch:
    """One traced access: iteration, the instruction, the place."""

    iteration: int
    item: Instruction
    place: tuple[str, int]


@dataclass
class Machine:
    """Executes a function; with a loop, its graph stands in for the loop's blocks."""

    module: IrModule
    function: Function
    memory: Memory
    loop: CLoop | None = None
    trips: list[int] = field(default_factory=list)
    traces: list[list[Touch]] = field(default_factory=list)
    #: Copies of the body in one iteration of the graph.
    copies: int = 1
    #: Called with (loop, stimulus, observation) after each run of the graph.
    observe: object = None

    def run(self, arguments: dict[str, object]) -> int | None:
        layout = DataLayout(self.module.structs)
        for name, variable in self.module.globals.items():
            image = initial_bytes(variable, layout)
            self.memory.objects.setdefault(name, bytearray(image or layout.size(variable.contents_type)))
        env: dict[object, object] = {}
        for a in self.function.arguments:
            given = arguments[a.name]
            env[a] = wrap(given, bits_of(a.type)) if isinstance(given, int) else given
        return self.walk(env, self.function.entry, "", frozenset())[1]

    def walk(self, env, block, previous, within, trace=None):
        """Run until a return, or until control leaves ``within``; returns (block, value, previous, header visits)."""
        header = self.loop.region.loop.header if self.loop else None
        inner = self.loop.region.inner.header if self.loop and self.loop.region.inner else None
        visits = steps = skipped = 0
        while True:
            if within and block not in within:
                return block, None, previous, visits + skipped
            if block == header and not within:
                block, previous = self.replace_loop(env, previous)
                continue
            if block == (inner or header) and within:
                visits, skipped = visits + 1, 0
            elif block == header:
                # A flattened nest takes an iteration where its inner loop has none.
                visits, skipped = visits + skipped, 1
            items = self.function.blocks[block].instructions
            phis = [i for i in items if i.opcode == "phi"]
            env.update([(i, self.value(env, i.operands[i.incoming.index(previous)])) for i in phis])
            for item in items[len(phis) :]:
                steps += 1
                assert steps < MAX_STEPS, "runs too long"
                if item.opcode == "ret":
                    return None, self.value(env, item.operands[0]) if item.operands else None, block, visits
                if item.opcode in ("br", "switch"):
                    block, previous = self.branch(env, item), block
                    break
                if trace is not None and item.opcode in ("load", "store"):
                    trace.append(Touch(visits - 1, item, self.value(env, item.operands[-1])))
                env[item] = self.execute(env, item)

    def replace_loop(self, env, previous):
        region = self.loop.region
        shadow = copy.copy(self)
        shadow.memory = Memory({k: bytearray(v) for k, v in self.memory.objects.items()})
        trace: list[Touch] = []
        exit_block, _, exiting, visits = shadow.walk(
            dict(env), region.loop.header, previous, frozenset(region.blocks), trace
        )
        if region.after_exit and not region.inner and region.exiting != region.loop.latches[0]:
            done = [t for name in region.after_exit for t in self.function.blocks[name].instructions]
            if any(i.opcode not in ("br", "switch", "phi") for i in done):
                visits -= 1
        self.trips.append(visits)
        self.traces.append(trace)
        self.run_graph(env, visits, previous, trace)
        return exit_block, exiting

    def run_graph(self, env, visits, previous, trace) -> None:
        loop = self.loop
        if visits % self.copies:
            raise Remainder(f"{visits} iterations are no multiple of {self.copies}")
        stimulus = Stimulus(iterations=visits // self.copies)
        places: dict[Instruction, dict[int, tuple[str, int]]] = {}
        for touch in trace:
            places.setdefault(touch.item, {})[touch.iteration] = touch.place
        for name, value in loop.liveins.items():
            if isinstance(value, Instruction) and value.opcode == "load" and loop.region.contains(value):
                touched = next(iter(places.get(value, {}).values()), None)
                found = self.memory.load(touched, value.type) if touched else UNTOUCHED
                stimulus.liveins |= loop.words_of(name, found)
                continue
            if isinstance(value, Instruction) and loop.region.contains(value):
                value = value.operands[value.incoming.index(previous)]
            number = self.value(env, value)
            if isinstance(value, IrParameter) and value.unsigned:
                number &= (1 << bits_of(value.type)) - 1
            stimulus.liveins |= loop.words_of(name, number)
        starts = {array.name: self.base_of(env, array.base) for array in loop.arrays}
        for array in loop.arrays if not loop.streams else ():
            stimulus.memory[array.name] = self.words(array, *starts[array.name])
        self.feed(stimulus, places)
        stimulus.liveins = loop.start(stimulus.liveins, stimulus.memory)
        seen = Interpreter(loop.dfg).run(stimulus)
        for array in loop.arrays if not loop.streams else ():
            self.put_back(array, seen.memory[array.name], *starts[array.name])
        for name, item in loop.streams.items():
            for k, word in enumerate(seen.outputs.get(name, np.zeros(0, dtype=np.int64)).tolist()):
                if k in places.get(item, {}):
                    self.memory.store(places[item][k], word, item.operands[0].type)
                else:
                    assert word == UNTOUCHED, f"{name} writes {word} where nothing is stored"
        for name, item in loop.liveouts.items():
            if visits:
                env[item] = wrap(loop.last(name, seen.liveouts), bits_of(item.type))
            else:
                env[item] = self.value(env, item.operands[item.incoming.index(previous)])
        # What the loop hands on unchanged is no live-out of the graph.
        if self.observe:
            self.observe(loop, stimulus, seen)

    def feed(self, stimulus: Stimulus, places) -> None:
        """Input streams bring what stands at the places that they touch, and a known word where they touch none."""
        for name, item in self.loop.streams.items():
            if self.loop.dfg.node(name).op == "input":
                array = next(a for a in self.loop.arrays if name.startswith(f"{a.name}_in"))
                mask = (1 << (8 * array.size)) - 1
                found = np.full(stimulus.iterations, UNTOUCHED, dtype=np.int64)
                for k, place in places.get(item, {}).items():
                    word = self.memory.load(place, item.type if item.opcode == "load" else item.operands[0].type)
                    found[k] = word if array.signed or array.size == 4 else word & mask
                stimulus.streams[name] = found

    def base_of(self, env, name: str) -> tuple[str, int]:
        from gridloom.compiler.loops.operations import readable

        for key, value in env.items():
            if readable(getattr(key, "name", "")) == name and isinstance(value, tuple):
                return value
        return next((g, 0) for g in self.module.globals if readable(g) == name)

    def words(self, array, object_: str, start: int) -> np.ndarray:
        data = self.memory.objects[object_]
        found = np.zeros(array.length, dtype=np.int64)
        for k in range(array.length):
            at = start + array.offset + k * array.stride
            if 0 <= at <= len(data) - array.size:
                signed = array.signed or array.size == 4
                found[k] = int.from_bytes(data[at : at + array.size], "little", signed=signed)
        return found

    def put_back(self, array, words, object_: str, start: int) -> None:
        data = self.memory.objects[object_]
        low, high = array.range
        for k, word in enumerate(words.tolist()):
            at = start + array.offset + k * array.stride
            if 0 <= at <= len(data) - array.size:
                assert low <= word <= high, f"{array.name}[{k}] holds {word}, outside its elements' {low} to {high}"
                data[at : at + array.size] = (word & ((1 << (8 * array.size)) - 1)).to_bytes(array.size, "little")

    # -- instructions -----------------------------------------------------------------------------------------------

    def value(self, env, value):
        if isinstance(value, Constant):
            return value.value if value.type != "ptr" else None
        if isinstance(value, Global):
            return (value.name, 0)
        if isinstance(value, GlobalAddress):
            return (value.base.name, value.offset)
        return env[value]

    def branch(self, env, item: Instruction) -> str:
        if item.opcode == "switch":
            subject, *cases = [self.value(env, o) for o in item.operands]
            return next((t for c, t in zip(cases, item.targets[1:]) if c == subject), item.targets[0])
        if not item.operands:
            return item.targets[0]
        return item.targets[0 if self.value(env, item.operands[0]) else 1]

    def execute(self, env, item: Instruction):
        operands = [self.value(env, o) for o in item.operands]
        if item.opcode == "load":
            return self.memory.load(operands[0], item.type)
        if item.opcode == "store":
            self.memory.store(operands[1], operands[0], item.operands[0].type)
            return None
        if item.opcode == "alloca":
            name = f"local {item.name}"
            kind = item.text.partition("alloca ")[2].partition(", align")[0]
            self.memory.objects[name] = bytearray(DataLayout(self.module.structs).size(kind))
            return name, 0
        if item.opcode == "getelementptr":
            return self.step(item, operands)
        if item.opcode == "icmp":
            return self.compare(item, operands)
        if item.opcode == "select":
            return operands[1] if operands[0] else operands[2]
        if item.opcode == "call":
            return self.call(item, operands)
        return self.arithmetic(item, operands)

    def step(self, item, operands):
        layout = DataLayout(self.module.structs)
        base, offset = operands[0]
        kind = item.source_type
        offset += operands[1] * layout.size(kind)
        for index in operands[2:]:
            if kind.startswith("["):
                kind = kind[kind.index(" x ") + 3 : -1]
                offset += index * layout.size(kind)
            else:
                inner, kind = layout.members(kind)[index]
                offset += inner
        return base, offset

    def compare(self, item, operands) -> int:
        a, b = operands
        if isinstance(a, tuple):
            a, b = (0, a[1]), (0, b[1])
        else:
            mask = (1 << bits_of(item.operands[0].type)) - 1
            if item.predicate.startswith("u"):
                a, b = a & mask, b & mask
        name = item.predicate[-2:] if item.predicate not in ("eq", "ne") else item.predicate
        return int({"eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[name])

    def arithmetic(self, item, operands):
        kind, bits = item.type, bits_of(item.type)
        a = operands[0]
        b = operands[1] if len(operands) > 1 else 0
        source = bits_of(item.operands[0].type)
        unsigned_a, mask = (a & ((1 << source) - 1)) if isinstance(a, int) else 0, (1 << bits) - 1
        if item.opcode in ("freeze", "bitcast"):
            return wrap(a, bits)
        if kind == "float" or item.opcode in ("fcmp", "fptosi", "fptoui"):
            return self.real(item, operands)
        if item.opcode in ("sext", "trunc"):
            if item.opcode == "sext" and source == 1:
                return -a
            return wrap(a, bits)
        if item.opcode == "zext":
            return wrap(unsigned_a, bits)
        if item.opcode in ("sdiv", "srem"):
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return wrap(quotient if item.opcode == "sdiv" else a - quotient * b, bits)
        results = {
            "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "and": lambda: a & b,
            "or": lambda: a | b, "xor": lambda: a ^ b, "shl": lambda: a << b, "ashr": lambda: a >> b,
            "lshr": lambda: unsigned_a >> b, "udiv": lambda: unsigned_a // (b & mask),
            "urem": lambda: unsigned_a % (b & mask),
        }  # fmt: skip
        return wrap(results[item.opcode](), bits)

    def real(self, item, operands):
        if item.opcode == "sitofp":
            return pattern(np.float32(operands[0]))
        if item.opcode == "uitofp":
            return pattern(np.float32(operands[0] & ((1 << bits_of(item.operands[0].type)) - 1)))
        with np.errstate(all="ignore"):
            numbers = [single(o) for o in operands]
            a, b = (numbers * 2)[:2]
            if item.opcode in ("fptosi", "fptoui"):
                return wrap(int(a), 32)
            if item.opcode == "fcmp":
                name = item.predicate[-2:]
                found = {"eq": a == b, "ne": a != b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}.get(name)
                unordered = bool(np.isnan(a) or np.isnan(b))
                if item.predicate in ("uno", "ord"):
                    return int(unordered == (item.predicate == "uno"))
                return int(item.predicate.startswith("u")) if unordered else int(bool(found))
            if item.opcode == "fneg":
                return wrap(operands[0] ^ 0x80000000, 32)
            return pattern({"fadd": a + b, "fsub": a - b, "fmul": a * b, "fdiv": a / b}[item.opcode])

    def call(self, item, operands):
        name = item.callee.removeprefix("llvm.")
        stem, _, kind = name.rpartition(".")
        bits = bits_of(kind) if kind.startswith("i") else 32
        mask = (1 << bits) - 1
        a = operands[0] if operands else 0
        b = operands[1] if len(operands) > 1 else 0
        if stem.startswith(("assume", "lifetime", "experimental")):
            return None
        if kind == "f32":
            x = single(a)
            found = {"fabs": abs(x), "sqrt": np.sqrt(x)}
            if stem == "copysign":
                found[stem] = np.copysign(x, single(b))
            if stem in ("minnum", "maxnum"):
                found[stem] = (np.fmin if stem == "minnum" else np.fmax)(x, single(b))
            if stem in ("minimum", "maximum"):
                y = single(b)
                ordered = sorted((x, y), key=lambda z: (float(z), not np.signbit(z)))
                found[stem] = np.float32(np.nan) if np.isnan(x) or np.isnan(y) else ordered[stem == "maximum"]
            return pattern(found[stem])
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        rules = {
            "abs": lambda: abs(a), "smin": lambda: min(a, b), "smax": lambda: max(a, b),
            "umin": lambda: min(a & mask, b & mask), "umax": lambda: max(a & mask, b & mask),
            "ctpop": lambda: (a & mask).bit_count(), "ctlz": lambda: bits - (a & mask).bit_length(),
            "cttz": lambda: bits if a == 0 else ((a & -a) & mask).bit_length() - 1,
            "bswap": lambda: int.from_bytes((a & mask).to_bytes(bits // 8, "little"), "big"),
            "bitreverse": lambda: int(f"{a & mask:0{bits}b}"[::-1], 2),
            "sadd.sat": lambda: min(max(a + b, low), high), "ssub.sat": lambda: min(max(a - b, low), high),
            "uadd.sat": lambda: min((a & mask) + (b & mask), mask), "usub.sat": lambda: max((a & mask) - (b & mask), 0),
            "fshl": lambda: (((a & mask) << bits | (b & mask)) << (operands[2] % bits)) >> bits,
            "fshr": lambda: ((a & mask) << bits | (b & mask)) >> (operands[2] % bits),
        }  # fmt: skip
        return wrap(rules[stem](), bits)
