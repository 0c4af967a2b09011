"""What is wrong with a description is said with the file, the line and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridloom.archs import build
from gridloom.errors import ArchError

HEAD = "style: modulo\nrows: 4\ncols: 4\n"
STATIC = "style: static\nrows: 4\ncols: 4\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("style: modulo\nrow: 4\ncols: 4\n", 2, "row: an array has no key 'row'; did you mean 'rows'?"),
        (HEAD + "tiles:\n  - {regs: 4}\n", 5, "tiles.0.regs: a tile has no key 'regs'; did you mean 'registers'?"),
        (
            HEAD + "tiles:\n  - {ops: [mull]}\n",
            5,
            "tiles.0.ops.0: no op or op class is called 'mull'; did you mean 'mul'?",
        ),
        (
            HEAD + "tiles:\n  - where: [4, 0]\n    ops: [alu]\n",
            5,
            "tiles.0.where: tile [4, 0] is outside of 4 x 4 (rows 0 to 3, columns 0 to 3)",
        ),
        (
            HEAD + "links:\n  - mesh\n  - {from: [1, 1], to: [1, 1]}\n",
            6,
            "links.1: would link tile [1, 1] to itself; a tile reads its own output without a link",
        ),
        (
            HEAD + "links:\n  - {from: [0, 0], to: [3, 9]}\n",
            5,
            "links.0.to: tile [3, 9] is outside of 4 x 4 (rows 0 to 3, columns 0 to 3)",
        ),
        (HEAD + "links: meshh\n", 4, "links.pattern: no pattern is called 'meshh'; did you mean 'mesh'?"),
        (
            HEAD + "links:\n  - mesh\n  - {from: [0, 0], to: [3, 3], remove: true}\n",
            6,
            "links.1.remove: there is no link from [0, 0] to [3, 3]",
        ),
        (
            HEAD + "links:\n  - mesh\n  - {pattern: diagonal, where: {row: 0}}\n",
            6,
            "links.1.where: keeps no link of 'diagonal'; both ends of a link have to lie in it",
        ),
        (
            HEAD + "tiles:\n  - ops:\n      add: [mul]\n      remove: [mul]\n",
            5,
            "tiles.0.ops: 'mul' is both added and removed; leave one of them out",
        ),
        (
            HEAD + "tiles:\n  - latency: {mul: 0}\n",
            5,
            "tiles.0.latency.mul: expected a whole number from 1 to 1024, found 0",
        ),
        (
            HEAD + "tiles:\n  - occupancy: {dvi: 2}\n",
            5,
            "tiles.0.occupancy.dvi: no op class is called 'dvi'; did you mean 'div'?",
        ),
        (
            HEAD + "tiles:\n  - {fifo: 4}\n",
            5,
            "tiles.0.fifo: operands wait in FIFOs on static arrays only; here values wait in registers",
        ),
        (
            STATIC + "tiles:\n  - {registers: 4}\n",
            5,
            "tiles.0.registers: a static array has no registers; leave it out, or write style: modulo",
        ),
        (
            HEAD + "tiles:\n  - {where: none, ops: [alu]}\n",
            5,
            "tiles.0.where: 'none' selects no tile of 4 x 4",
        ),
        (
            HEAD + "tiles:\n  - {registers: 2}\nfiles:\n  - {name: rf, count: 4}\n",
            6,
            "files: tile [0, 0] is in file 'rf' and has 2 registers of its own; a tile reads one file: write "
            "registers: 0 for it, or leave it out of the file",
        ),
        (
            HEAD + "tiles:\n  - {registers: {count: 2, rotating: 3}}\n",
            4,
            "tiles: tile [0, 0] has 2 registers, of which 3 rotate; write a smaller number for rotating",
        ),
        (
            HEAD + "files:\n  - {name: a, count: 4}\n  - {name: b, count: 4, where: {row: 0}}\n",
            6,
            "files.1.where: tile [0, 0] is in file 'a' already; a tile reads one file",
        ),
        (
            HEAD + "memory:\n  bytes: 64\n  ports: rows\n",
            6,
            "memory.ports: expected row, column, tile, none or a list of ports, found 'rows'",
        ),
        (
            HEAD + "memory:\n  banks:\n    - {name: m, where: {col: 0}}\n",
            5,
            "memory.banks: tile [0, 1] accesses memory but reaches no bank; add it to the 'where' of one, or remove "
            "memory from its ops",
        ),
        (
            HEAD + "memory:\n  bytes: 64\n  banks:\n    - {name: m}\n",
            5,
            "memory.bytes: each bank has its own bytes; leave it out, or the banks",
        ),
        (
            HEAD + "memory:\n  banks:\n    - {name: m, port: 2}\n",
            6,
            "memory.banks.0.port: a bank has no key 'port'; did you mean 'ports'?",
        ),
        (
            HEAD + "tiles: {latency: {mem: 3}}\nmemory:\n  banks:\n    - {latency: 2}\n",
            6,
            "memory.banks: tile [0, 0] has latency 3 for mem, and bank 'bank_0' says 2; leave one of them out",
        ),
        (
            "extends: torus:4x4\nrows: 6\n",
            2,
            "rows: 'torus:4x4', which is extended, has 4; leave it out",
        ),
        ("extends: torus:4xx\n", 1, "extends: expected key=value, found '4xx'"),
        ("extends: 7\n", 1, "extends: expected an ARCH such as torus:4x4, or a YAML file, found 7"),
        ("extends: vpcma\n", 1,
         "extends: 'vpcma' is not made of tiles with links alone; its description by resources, which 'gridloom show "
         "vpcma --yaml' writes, can be changed instead"),
        ("style: modulo\nrows: 4\n", 1, "cols: an array needs this key, or the array that it extends"),
        (
            HEAD + "buses:\n  - row\n",
            5,
            "buses.0: expected one of rows, columns, found 'row'",
        ),
        (
            HEAD + "buses:\n  - {along: rows, number: 2}\n",
            5,
            "buses.0.number: buses along rows has no key 'number'; known: along, count",
        ),
        (
            HEAD + "buses:\n  - {where: {row: 0}}\n",
            5,
            "buses.0.name: expected a name of 1 to 100 printable characters, found None",
        ),
        (
            HEAD + "buses:\n  - {name: spine, count: 2}\n",
            5,
            "buses.0.count: only buses along rows or columns are counted; write several entries",
        ),
        (
            HEAD + "buses:\n  - rows\n  - {name: row_1}\n",
            4,
            "buses: two buses are called 'row_1'",
        ),
        (
            STATIC + "buses: rows\n",
            4,
            "buses: a wire of a static array carries one value for the whole loop; write links: row or column, or "
            "style: modulo",
        ),
        (
            HEAD + "tiles:\n  - registers: {count: 2, reads: 0}\n",
            5,
            "tiles.0.registers.reads: expected a whole number from 1 to 64 or null (no limit), found 0",
        ),
        (
            HEAD + "files:\n  - {name: rf, count: 4, write: 1}\n",
            5,
            "files.0.write: a register file has no key 'write'; did you mean 'writes'?",
        ),
        (
            STATIC + "tiles:\n  - {fifo: [4, -1, 2]}\n",
            5,
            "tiles.0.fifo.1: expected a whole number from 0 to 1048576 or null (no limit), found -1",
        ),
        (
            STATIC + "tiles:\n  - {fifo: []}\n",
            5,
            "tiles.0.fifo: expected a number, or a list with one for each operand, found []",
        ),
        (
            STATIC + "tiles:\n  - {fifo: [4, 2]}\n",
            4,
            "tiles: tile [0, 0] has 3 operands and 2 numbers for fifo; write one for each operand, or one for all",
        ),
        (
            HEAD + "tiles:\n  - {constants: few}\n",
            5,
            "tiles.0.constants: expected a whole number from 0 to 4096 or null (no limit), found 'few'",
        ),
        ("style: elastic\nrows: 4\ncols: 4\n", 1, "style: expected one of static, modulo, found 'elastic'"),
        (HEAD + "name: ''\n", 4, "name: expected 1 to 100 printable characters, found ''"),
    ],
)  # fmt: skip
def test_file_line_and_key_are_named(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "array.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArchError) as error:
        build(path)
    assert str(error.value) == f"{path}:{line}: {message}"


def test_an_error_in_an_extended_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(HEAD + "links: meshh\n", encoding="utf-8")
    path = tmp_path / "top.yaml"
    path.write_text("extends: base.yaml\n", encoding="utf-8")
    with pytest.raises(ArchError) as error:
        build(path)
    assert str(error.value).startswith(f"{tmp_path / 'base.yaml'}:4: links.pattern: ")


def test_files_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: {other}.yaml\n", encoding="utf-8")
    with pytest.raises(ArchError, match=r"extends: 'a\.yaml' extends this file in turn; leave one of the two out"):
        build(tmp_path / "a.yaml")


def test_op_class_that_is_no_name_is_refused() -> None:
    from gridloom.archs import build
    from gridloom.errors import ArchError

    spec = {"style": "modulo", "rows": 1, "cols": 2, "links": ["mesh"], "tiles": [{"ops": {"remove": [{"a": 1}]}}]}
    with pytest.raises(ArchError, match="no op or op class is called"):
        build(spec)
