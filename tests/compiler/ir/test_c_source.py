"""What ``-D``, ``-I`` and ``-std`` say, files of several units, and lists of compile commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gridloom.compiler.ir.c_source import CSource, CUnit, SourceOptions, gather_source, read_commands, source_of
from gridloom.compiler.ir.driver import compile_program, compile_to_ir
from gridloom.compiler.ir.linking import keep_reachable, parse_module
from gridloom.errors import OptionError, SourceError

pytest.importorskip("ziglang")

OLD = """
extern int missing();
total(a, n) int *a; int n;
{ int i, s = 0; for (i = 0; i < n; i++) s += a[i]; return s; }
main() { return total(0, 0) + undeclared() + missing(); }
"""


def _names(text: str) -> set[str]:
    return {function.name for function in parse_module(text, "x").functions}


def test_options_reach_the_compiler(tmp_path: Path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "sizes.h").write_text("#define SIZE 12\n")
    (tmp_path / "src").mkdir()
    path = tmp_path / "src" / "f.c"
    path.write_text('#include "sizes.h"\nint f(void) { return SIZE + MORE; }\n')
    options = SourceOptions(defines=("MORE=30",), folders=(tmp_path / "inc",), standard="c99")
    assert "ret i32 42" in compile_to_ir(CSource(units=(CUnit(path=path, options=options),)))
    with pytest.raises(SourceError, match=r"'sizes\.h' file not found"):
        compile_to_ir(path)


def test_a_header_beside_the_source_s_folder_needs_its_folder_named(tmp_path: Path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "sizes.h").write_text("#define SIZE 12\n")
    (tmp_path / "src").mkdir()
    path = tmp_path / "src" / "f.c"
    path.write_text('#include "../inc/sizes.h"\nint f(void) { return SIZE; }\n')
    with pytest.raises(
        SourceError, match="outside the folder of the source; name its folder with -I, or copy the file"
    ):
        compile_to_ir(path)
    options = SourceOptions(folders=(tmp_path / "inc",))
    assert "ret i32 12" in compile_to_ir(CSource(units=(CUnit(path=path, options=options),)))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"defines": ("1x",)}, "-D: expected NAME or NAME=VALUE, found '1x'"),
        ({"folders": (Path("/nowhere"),)}, "-I: there is no folder /nowhere"),
        ({"standard": "ansi"}, "-std: expected a standard such as c99 or gnu89, found 'ansi'"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, object], text: str):
    with pytest.raises(OptionError) as caught:
        SourceOptions(**given)
    assert str(caught.value) == text


def test_what_old_c_leaves_out_is_a_warning(tmp_path: Path):
    path = tmp_path / "old.c"
    path.write_text(OLD)
    assert compile_program(path).warnings == (
        f"{path}:3: type specifier missing, defaults to 'int'",
        f"{path}:5: type specifier missing, defaults to 'int'",
        f"{path}:5: call to undeclared function 'undeclared'",
    )


def test_only_what_a_function_reaches_is_kept(tmp_path: Path):
    path = tmp_path / "old.c"
    path.write_text(OLD)
    text = compile_to_ir(path)
    assert _names(keep_reachable(text, {"total"}, "x")) == {"total"}
    assert {"main", "missing", "undeclared"} <= _names(keep_reachable(text, {"main"}, "x"))
    assert keep_reachable(text, {"absent"}, "x") == text


def test_several_files_are_one_module(tmp_path: Path):
    first, second = tmp_path / "a.c", tmp_path / "b.c"
    first.write_text("int shared;\nint twice(int);\nint f(int x) { return twice(x) + shared; }\n")
    second.write_text("int shared;\nint twice(int x) { return 2 * x; }\n")
    text = compile_to_ir(gather_source([first, second], SourceOptions()))
    assert {"f", "twice"} <= _names(text) and "call" not in text.partition("@f(")[2].partition("}")[0]
    second.write_text("int twice(int x) { return 2 * x; }\nint f(int x) { return x; }\n")
    with pytest.raises(SourceError, match=r"the files do not go together: .*symbol multiply defined"):
        compile_to_ir(gather_source([first, second], SourceOptions()))


def test_functions_of_cpp_have_the_names_of_the_text(tmp_path: Path):
    path = tmp_path / "f.cpp"
    path.write_text("int f(int *x) { return x[0]; }\nint g(int x) { return x; }\nint g(char x) { return x; }\n")
    assert _names(compile_to_ir(path)) == {"f", "_Z1gi", "_Z1gc"}


def test_compile_commands_give_files_and_options(tmp_path: Path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "a.c").write_text("")
    (tmp_path / "x.S").write_text("")
    rows = [
        {"directory": str(tmp_path), "file": "a.c", "command": "cc -DN=3 -I inc -O2 -std=c99 -c a.c"},
        {"directory": str(tmp_path), "file": "x.S", "arguments": ["cc", "x.S"]},
    ]
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps(rows))
    source = read_commands(path)
    options = SourceOptions(defines=("N=3",), folders=(tmp_path / "inc",), standard="c99")
    assert source.units == (CUnit(path=tmp_path / "a.c", options=options),) and source.path == path


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("{", "is no JSON"),
        ("[]", "is no list of compile commands"),
        ('[{"file": "x.S"}]', "lists no C file"),
        ('[{"file": "../../etc/passwd.c"}]', "which is outside its folder; name it with -I"),
        ('[{"file": "a.c", "command": "cc \\""}]', "the command of a.c cannot be read"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, rows: str, text: str):
    path = tmp_path / "compile_commands.json"
    path.write_text(rows)
    with pytest.raises(SourceError, match=text):
        read_commands(path)


def test_a_record_stands_for_itself(tmp_path: Path):
    source = source_of(tmp_path / "a.c")
    assert source_of(source) is source and source.is_plain and not source.linked
