"""Random C functions with narrow values: switch subjects, counters that wrap around, views of other widths, structs.

They add to :mod:`tests.flow.functions.generated_functions` what a word does not show: an error in the bits above the
width of a value, or in the number of iterations of a counter that comes round.
"""

from __future__ import annotations

from tests.flow.functions.generated_functions import HEADER, FunctionWriter

#: C type -> bits, and whether it has a sign.
_COUNTERS = {"int8_t": (8, True), "uint8_t": (8, False), "int16_t": (16, True), "uint16_t": (16, False)}
_SUBJECTS = ("b[{i}]", "c[{i}]", "k[{i}]", "h[{i}]", "(uint8_t)(a[{i}] + {x})", "(int8_t)({x} * 3 + {i})",
             "w[{i}] & 3", "(w[{i}] >> 5) & 7", "(u[{i}] >> 30)", "w[{i}] & 1", "(uint16_t){x}",
             "a[{i}] & 15")  # fmt: skip
_VALUES = {"b[{i}]": (0, 255), "c[{i}]": (-128, 127), "k[{i}]": (0, 65535), "h[{i}]": (-32768, 32767)}
TYPES = """
typedef int16_t __attribute__((may_alias)) half_view;
typedef uint8_t byte_view;
typedef int32_t __attribute__((may_alias)) word_view;
typedef struct __attribute__((may_alias)) { int16_t x; uint16_t g; int32_t y; uint8_t f; int8_t e; } record;
"""


def wrap(number: int, bits: int, signed: bool) -> int:
    """A number as a type holds it."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


class NarrowWriter(FunctionWriter):
    """Writes one function from a seed, whose loops are of the narrow kinds."""

    def _statement(self, depth: int) -> list[str]:
        narrow = [self._narrow_switch, self._narrow_switch, self._wrapping, self._wrapping_do, self._wrapping_while,
                  self._views, self._members, self._ordered]  # fmt: skip
        if depth == 0 and self.random.random() < 0.75:
            return self.random.choice(narrow)(depth)
        if self.in_loop and depth < 2 and self.loops < 5 and self.random.random() < 0.25:
            return self.random.choice(narrow)(depth)
        return super()._statement(depth)

    def _narrow_switch(self, depth: int) -> list[str]:
        """A loop around a switch on a value of few bits."""
        i, subject = self._name("i"), self.random.choice(_SUBJECTS)
        low, high = _VALUES.get(subject, (0, 200))
        values = {0, 1, 2, 3, low, high, self.random.randint(low, high), self.random.randint(low, high)}
        chosen = self.random.sample(sorted(values), self.random.randint(2, min(6, len(values))))
        self.loops += 1
        self.counters.append(i)
        cases = [f"    case {value}: {self._assign(3)[0]} {self.random.choice(['break;', 'break;', ''])}"
                 for value in chosen]  # fmt: skip
        lines = [f"for (int {i} = 0; {i} < {self._bound()}; {i}++)",
                 f"  switch ({subject.format(i=i, x=self.random.choice(['s', 't', 'sh', 'by', 'p']))}) {{", *cases,
                 f"    default: {self._assign(3)[0]}", "  }"]  # fmt: skip
        self.counters.pop()
        return lines

    def _round(self) -> tuple[str, str, int, int, int]:
        """A counter that meets its bound after a few steps: type, name, start, step, bound."""
        kind = self.random.choice(list(_COUNTERS))
        bits, signed = _COUNTERS[kind]
        near = self.random.choice([0, 1 << (bits - 1), (1 << bits) - 1, self.random.randrange(1 << bits)])
        step = self.random.choice([1, 1, -1, -1, 2, -2, 3, -3, 5, 7, -11])
        start = wrap(near - self.random.randint(0, 9) * step, bits, signed)
        bound = wrap(start + self.random.randint(1, 17) * step, bits, signed)
        return kind, self._name("j"), start, step, bound

    def _wrapping(self, depth: int) -> list[str]:
        """A counted loop that comes round, with its end told by !=."""
        kind, j, start, step, bound = self._round()
        return [f"for ({kind} {j} = {start}; {j} != {bound}; {j} += {step}) {{", *self._inside(depth, j), "}"]

    def _wrapping_do(self, depth: int) -> list[str]:
        kind, j, start, step, bound = self._round()
        return ["{", f"  {kind} {j} = {start};", "  do {", *self._inside(depth, j), f"    {j} += {step};",
                f"  }} while ({j} != {bound});", "}"]  # fmt: skip

    def _wrapping_while(self, depth: int) -> list[str]:
        kind, j, start, step, bound = self._round()
        return ["{", f"  {kind} {j} = {start};", f"  while ({j} != {bound}) {{", f"    {j} += {step};",
                *self._inside(depth, j), "  }", "}"]  # fmt: skip

    def _ordered(self, depth: int) -> list[str]:
        """A narrow counter with an ordered test, which ends before it comes round."""
        kind, j = self.random.choice(list(_COUNTERS)), self._name("j")
        bits, signed = _COUNTERS[kind]
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        step, count = self.random.choice([1, 2, 3, 7]), self.random.randint(1, 12)
        start = self.random.randint(low + step + 1, high - step * (count + 2))
        last = start + step * count
        if self.random.random() < 0.5:
            return [f"for ({kind} {j} = {start}; {j} {self.random.choice(['<', '<='])} {last}; {j} += {step}) {{",
                    *self._inside(depth, j), "}"]  # fmt: skip
        return [f"for ({kind} {j} = {last}; {j} {self.random.choice(['>', '>='])} {start}; {j} -= {step}) {{",
                *self._inside(depth, j), "}"]  # fmt: skip

    def _inside(self, depth: int, j: str) -> list[str]:
        """The body of a loop whose counter is no plain index; nothing in it jumps over the counter's step."""
        self.loops += 1
        lines = [f"s = s * 3 + {j} + a[{j} & 63];", f"t ^= (int){j} << 3;", f"x += {j} * h[({j} + n) & 63];",
                 f"b[{j} & 31] += (uint8_t)({j} + s);", f"v = v * 5 + (unsigned){j};",
                 f"a[({j} + 3) & 63] = k[{j} & 63] - {j};", f"y ^= (uint8_t)({j} >> 1);"]  # fmt: skip
        chosen = self.random.sample(lines, self.random.randint(1, 3))
        return self._indent(chosen)

    def _views(self, depth: int) -> list[str]:
        """A loop that reads and writes one buffer as elements of several widths."""
        i, p = self._name("i"), self._name("p")
        view = self.random.choice(["half_view", "byte_view", "word_view"])
        to, size = self.random.choice([("a", 4), ("u", 4), ("k", 2), ("w", 8), ("b", 1)])
        if view == "word_view" and size < 4:
            view = "byte_view"
        most = size * 64 // {"half_view": 2, "byte_view": 1, "word_view": 4}[view] - 1
        if view == "half_view" and size < 2:
            view = "byte_view"
        self.loops += 1
        work = self.random.choice([
            f"{to}[{i}] += {p}[(2 * {i} + 1) & {most}];", f"{p}[(3 * {i}) & {most}] = {to}[{i}] + {i};",
            f"{p}[{i}] = {p}[{i} + 1] ^ (int){to}[{i} & 7];", f"s += {p}[{i}] * 3 + (int){to}[{i} + 1];",
            f"{{ {to}[{i}] = s; s += {p}[{i} & {most}]; }}",
        ])  # fmt: skip
        return ["{", f"  {view} *{p} = ({view} *){to};",
                f"  for (int {i} = 0; {i} < {self._bound()}; {i}++) {work}", "}"]  # fmt: skip

    def _members(self, depth: int) -> list[str]:
        """A loop over an array of structs with members of several widths."""
        i, p = self._name("i"), self._name("r")
        self.loops += 1
        read = self.random.choice([f"{p}[{i}].{m}" for m in "xgyfe"])
        other = self.random.choice([f"{p}[{i} + 1].{m}" for m in "xgyfe"])
        work = self.random.choice([
            f"s = s * 3 + {read} - {other};", f"{p}[{i}].{self.random.choice('xgyfe')} += {other};",
            f"{p}[{i}].y = {read} * {other} + {i};", f"if ({read} > {other}) {p}[{i}].e = {p}[{i}].f; else t++;",
            f"switch ({read}) {{ case 3: s++; break; case 255: t -= 7; break; case -2: s ^= 5; break; "
            f"default: v += {other}; }}",
        ])  # fmt: skip
        return ["{", f"  record *{p} = (record *)w;",
                f"  for (int {i} = 0; {i} < {self._bound()}; {i}++) {{ {work} }}", "}"]  # fmt: skip


def file_of(first: int, count: int) -> str:
    """A C file with the functions ``f<seed>`` of some seeds."""
    return HEADER + TYPES + "\n".join(NarrowWriter(seed, f"f{seed}").text() for seed in range(first, first + count))
