"""Run as a script with a format's name: reads a million nodes, prints the error, CPU seconds and megabytes it took."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

from gridloom.compiler.graphs import ccf, dot, e2emap, morpher, satmapit
from gridloom.dfg import Dfg, json_format
from gridloom.errors import GridloomError

MILLION = 1_000_001
JSON_HEAD = '{"format":"gridloom-dfg","version":1,"name":"g","domain":"i32","edges":[],"nodes":['


def lines(pattern: str, start: int = 0) -> str:
    return "".join(pattern.format(k) for k in range(start, MILLION + start))


CASES: dict[str, Callable[[], tuple[Callable[[str], Dfg], str]]] = {
    "dot": lambda: (lambda text: dot.loads(text, "g", "big"), "digraph {\n" + lines("n{};\n") + "}"),
    "ccf": lambda: (lambda text: ccf.loads(text, "", "g", "big"), lines("{}\t0\n")),
    "satmapit": lambda: (
        lambda text: satmapit.loads({"_nodes": text, "_edges": ""}, "g", "big"),
        lines("{} add -1 -1 -1 1\n"),
    ),
    "morpher": lambda: (
        lambda text: morpher.loads(text, "g", "big"),
        f'<DFG count="{MILLION}">' + lines('<Node idx="{}"><OP>A</OP></Node>\n'),
    ),
    "e2emap": lambda: (lambda text: e2emap.loads(text, "g", "big"), lines("{},0,0,0,0,0,0,0,0,0,0,0,0\n", 1)),
    "json": lambda: (
        lambda text: json_format.loads(text, "big"),
        JSON_HEAD + lines('{{"id":"{}","op":"add"}},')[:-1] + "]}",
    ),
}


def main(name: str) -> None:
    read, text = CASES[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    message = ""
    try:
        read(text)
    except GridloomError as error:
        message = str(error)
    seconds = time.process_time() - start
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"message": message, "seconds": seconds, "megabytes": megabytes}))


if __name__ == "__main__":
    main(sys.argv[1])
