"""Inputs of great size, depth and number: each is answered in time and under 2 GB.

    python -m tests.fuzz.pathological

prints a row for each: the limit, the seconds that it took, the largest memory of a process, the answer.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: Seconds of a search, the least that reading a source may take.
LIMIT = 5.0
#: Seconds that reading takes at most where there is no other limit, and seconds of a host run.
READING, RUNNING = 30.0, 60.0
MEMORY = 2_000_000_000


def _loop(body: str) -> str:
    return f"void f(int *a, int *b, int n) {{ for (int i = 0; i < n; i++) {{ int x = a[i];\n{body}\nb[i] = x; }} }}\n"


def _branches(count: int) -> str:
    rows = (f"if (x > {k * 7 % 1000}) x = x * {k + 3} + b[i]; else x = x - {k} + a[i];" for k in range(count))
    return _loop("\n".join(rows))


def _functions(count: int) -> str:
    return "".join(f"void f{k}(int *a, int n) {{ for (int i = 0; i < n; i++) a[i] += {k}; }}\n" for k in range(count))


def _nested(depth: int) -> str:
    heads = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++) " for k in range(depth))
    return f"void f(int *a, int n) {{ {heads} a[i0] += i{depth - 1}; }}\n"


def _macros(depth: int) -> str:
    rows = [f"#define M{k} M{k - 1} M{k - 1}" for k in range(1, depth)]
    return "\n".join(["#define M0 x = x * 3 + 1;", *rows, _loop(f"M{depth - 1}")])


def _table(words: int) -> str:
    return f"const int t[] = {{{','.join(map(str, range(words)))}}};\n" + _loop("x += t[x & 1023];")


def _cases(count: int) -> str:
    rows = "".join(f"case {k}: x = {k * 7919 % 65521}; break;\n" for k in range(count))
    return _loop(f"switch (x) {{ {rows} }}")


def _chain(edges: int) -> str:
    rows = "".join(f"n{k} -> n{k + 1};\n" for k in range(edges))
    return f"digraph g {{\n{rows}}}\n"


ENDLESS = "int f(int n) { volatile int s = 0; for (;;) for (int k = 0; k < 2000000000; k++) s += k; return s; }\n"
PYTHON = "import gridloom as gl\nwhile True:\n    pass\n"


@dataclass(frozen=True)
class Case:
    """Words of the command line, in which ``FILE`` is the file with the text; the limit that holds for it."""

    name: str
    words: tuple[str, ...]
    limit: float = LIMIT
    file: str = "input.c"
    text: Callable[[], str] = str


_MAP = ("map", "FILE", "--arch", "torus:8x8", "--time-limit", f"{LIMIT:g}")
_FIR = ("map", "kernel:fir", "--arch", "torus:4x4", "--time-limit", f"{LIMIT:g}")
CASES = (
    Case("an II of ten million", (*_FIR, "--ii", "10000000")),
    Case("the largest II", (*_FIR, "--ii", "500")),
    Case("10,000 workers", (*_FIR, "--jobs", "10000")),
    Case("a setting of 40 digits", (*_FIR, "--set", "ceiling=" + "9" * 40)),
    Case("a seed of 40 digits", (*_FIR, "--seed", "9" * 40)),
    Case("an array of 10^10 tiles", ("map", "kernel:fir", "--arch", "torus:100000x100000")),
    Case("registers without end", ("map", "kernel:fir", "--arch", "torus:4x4,regs=" + "9" * 18)),
    Case("a FIFO of 10^12 words", ("map", "kernel:fir", "--arch", "mesh:5x5,fifo=1000000000000")),
    Case("a kernel of 10^9 operations", ("map", "kernel:fir,taps=1000000000", "--arch", "mesh:5x5")),
    Case("400 if/else blocks", _MAP, text=lambda: _branches(400)),
    Case("400 if/else blocks, 64 times", ("map", "FILE:f,unroll=64", *_MAP[2:]), text=lambda: _branches(400)),
    Case("20,000 functions", ("show", "FILE"), READING, text=lambda: _functions(20_000)),
    Case("1,900 functions", ("show", "FILE"), READING, text=lambda: _functions(1_900)),
    Case("0.7 MB of C", ("show", "FILE"), READING, text=lambda: _loop("\n".join(
        f"x = x * {k * 7919 % 1009 + 2} + (x >> {k % 7 + 1}) + a[i + {k % 1301}];" for k in range(17_000)))),
    Case("a nest of 200 loops", _MAP, text=lambda: _nested(200)),
    Case("10,000 parentheses", _MAP, text=lambda: _loop("x = " + "(" * 10_000 + "x" + ")" * 10_000 + ";")),
    Case("macros that double 40 times", _MAP, text=lambda: _macros(40)),
    Case("a table of 3 MB", _MAP, text=lambda: _table(400_000)),
    Case("an array of 2 GB", _MAP, text=lambda: "int big[500000000];\n" + _loop("x += big[x & 1023];")),
    Case("10,000 cases of a switch", _MAP, text=lambda: _cases(10_000)),
    Case("a text of 3 MB", _MAP, text=lambda: f'const char t[] = "{"x" * 3_000_000}";\n' + _loop("x += t[x & 1023];")),
    Case("a function that does not end", ("compile", "FILE:f", "--arch", "torus:4x4", "--args", "n=1"), RUNNING,
         text=lambda: ENDLESS),
    Case("an argument of 40 digits", ("compile", "FILE:f", "--arch", "torus:4x4", "--args", "n=" + "9" * 40), READING,
         text=lambda: "int f(int n) { return n + 1; }\n"),
    Case("JSON 100,000 deep", ("map", "FILE", *_MAP[2:]), file="graph.json", text=lambda: "[" * 100_000),
    Case("YAML 100,000 deep", ("show", "FILE"), READING, file="array.yaml", text=lambda: "a: " + "[" * 100_000),
    Case("a graph of 300,000 edges", ("show", "FILE"), READING, "graph.dot", lambda: _chain(300_000)),
    Case("Python that does not end", _MAP, READING, file="kernel.py", text=lambda: PYTHON),
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """How a command ended: status, seconds, bytes of its largest process, what it said last."""

    status: int
    seconds: float
    memory: int
    said: str

    def is_in_time(self, limit: float) -> bool:
        """True where the limit, a tenth of it and a second were enough."""
        return self.seconds <= 1.1 * limit + 1.0


def answer(case: Case) -> Answer:
    """Run a case in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.file
        path.write_text(case.text())
        words = [sys.executable, "-m", "gridloom", *(word.replace("FILE", str(path)) for word in case.words)]
        began = time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, env=dict(os.environ))
        seconds = time.monotonic() - began
    said = (done.stderr.strip() or done.stdout.strip()).splitlines() or [""]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return Answer(done.returncode, seconds, memory, said[-1].replace(folder, ""))


def main() -> int:
    """Run every case and print a table; the status is 1 where one was late, too large or ended in a traceback."""
    bad = 0
    for case in CASES:
        found = answer(case)
        fine = found.is_in_time(case.limit) and found.memory < MEMORY and found.status in (0, 1, 2)
        bad += not fine
        mark = "" if fine else "  <--"
        row = f"{case.name:32s}{case.limit:5.0f} s{found.seconds:8.1f} s{found.memory / 1e6:8.0f} MB{found.status:4d}"
        print(f"{row}  {found.said[:90]}{mark}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
