"""C files that reach for other files, or for more memory and time than a loop needs, are refused in words."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest

from gridloom.compiler.c import load
from gridloom.compiler.ir import driver
from gridloom.errors import SourceError

pytestmark = pytest.mark.tools

LOOP = "void f(int *x, int n) { for (int i = 0; i < n; i++) x[i] += STEP; }\n"


@pytest.fixture
def c_file(tmp_path: Path):
    folder = tmp_path / "sources"
    folder.mkdir()

    def write(text: str, name: str = "loop.c") -> Path:
        (folder / name).write_text(text)
        return folder / name

    return write


def cpu_seconds() -> float:
    """CPU seconds of this process and of the compilers that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def refusal(path: Path, within: float = 60) -> str:
    start = cpu_seconds()
    with pytest.raises(SourceError) as caught:
        load(path)
    assert cpu_seconds() - start < within
    return str(caught.value)


def test_headers_of_the_folder_and_of_the_compiler_are_included(c_file):
    (c_file("").parent / "below").mkdir()
    c_file('#include "base.h"\n#define STEP BASE\n', "below/step.h")
    c_file("#define BASE 2\n", "below/base.h")
    assert load(c_file('#include <stdint.h>\n#include "below/step.h"\n' + LOOP)).line == 3


def test_line_directives_may_name_any_file(c_file):
    assert load(c_file('#line 7 "/etc/grammar.y"\n' + LOOP.replace("STEP", "1"))).line == 7


@pytest.mark.parametrize(
    "text",
    [
        '#include "{}"\n',
        "#include <{}>\n",
        '#define OTHER "{}"\n#include OTHER\n',
        '#include "../secret.h"\n',
        '#inc\\\nlude "{}"\n',
        '/* */ # /* */ include "{}"\n',
        '#if 1\n%:include "{}"\n#endif\n',
        '#include "link.h"\n',
        '#include "inner.h"\n',
    ],
)
def test_file_outside_the_folder_is_not_included_and_not_quoted(c_file, tmp_path, text):
    (tmp_path / "secret.h").write_text("root:password\n")
    path = c_file(text.replace("{}", str(tmp_path / "secret.h")) + LOOP)
    (path.parent / "link.h").symlink_to("../secret.h")
    c_file('#include "../secret.h"\n', "inner.h")
    message = refusal(path)
    assert message.startswith(f"{path}: includes ")
    place = ", which is outside the folder of the source"
    assert message.endswith(f"{place}; name its folder with -I, or copy the file")
    assert "password" not in message


def test_file_that_a_condition_leaves_out_may_be_anywhere(c_file, tmp_path):
    (tmp_path / "other.h").write_text("")
    assert load(c_file('#if 0\n#include "../other.h"\n#endif\n' + LOOP.replace("STEP", "1"))).line == 4


@pytest.mark.parametrize(
    "text",
    [
        '#include "pipe.h"\n',
        '#define PIPE "pipe.h"\n#include PIPE\n',
        '#if __has_include("pipe.h")\n#endif\n',
        '#include "inner.h"\n',
    ],
)
def test_named_pipe_is_refused_before_clang_waits_for_it(c_file, text):
    path = c_file(text + LOOP)
    os.mkfifo(path.parent / "pipe.h")
    inner = c_file('#include "pipe.h"\n', "inner.h") if "inner" in text else path
    pipe = path.parent / "pipe.h"
    assert refusal(path) == f"{inner}: names {pipe}, which is a named pipe; expected a regular file"


@pytest.mark.parametrize(
    ("macros", "name"),
    [
        ("#define TEXT(x) #x\n", "TEXT(pipe.h)"),
        ("#define TEXT(x) #x\n#define PIPE TEXT(pipe.h)\n", "PIPE"),
        ('#define PIPE "loop.h"\n#undef PIPE\n#define PIPE <pipe.h> /**/ + 1\n', "PIPE"),
    ],
)
def test_name_that_macros_put_together_is_refused_before_clang_opens_it(c_file, macros, name):
    path = c_file(f"{macros}#include {name}\n" + LOOP)
    os.mkfifo(path.parent / "pipe.h")
    assert refusal(path) == (
        f"{path}: #include {name!r}: macros put the name together; write it out, or define a macro as one quoted name"
    )


def test_macro_that_is_one_quoted_name_may_be_included(c_file):
    c_file("#define STEP 1\n", "step.h")
    assert load(c_file('#define FILE "step.h"\n#include FILE\n' + LOOP)).line == 3


def test_device_is_refused(c_file):
    path = c_file('#include "/dev/zero"\n' + LOOP)
    assert refusal(path) == f"{path}: names /dev/zero, which is a device; expected a regular file"


def test_embedded_files_are_refused(c_file):
    path = c_file('const char x[] = {\n#embed "/etc/hostname"\n};\n' + LOOP)
    assert refusal(path) == f"{path}: #embed is not taken; write the values out"


def test_many_open_comments_cost_little(c_file):
    refusal(c_file("/*" * 1_000_000 + "\n" + LOOP), 5)


def test_macro_bomb_is_refused_by_the_size_of_its_text(c_file):
    sums = "".join(f"#define A{k + 1} {'+'.join([f'A{k}'] * 10)}\n" for k in range(9))
    path = c_file(f"#define A0 1\n{sums}#define STEP A9\n{LOOP}")
    assert refusal(path) == (
        f"{path}: is longer than 8 MB after preprocessing; expand fewer macros, include fewer files"
    )


def test_file_that_includes_itself_is_refused(c_file):
    assert "#include nested too deeply" in refusal(c_file('#include "loop.c"\n'))


def test_huge_array_is_refused_by_the_memory_that_it_takes(c_file):
    path = c_file("int a[1 << 29] = {[0 ... (1 << 29) - 1] = 5};\nint g(int i) { return a[i]; }\n")
    assert refusal(path) == f"{path}: clang needs more than 2048 MB; make arrays and their initial values smaller"


def test_compiler_that_waits_is_stopped_with_what_it_started(c_file, tmp_path, monkeypatch):
    clang = tmp_path / "clang"
    clang.write_text(f"#!/bin/sh\n(sleep 1; touch {tmp_path}/left) &\nwait\n")
    clang.chmod(0o755)
    monkeypatch.setenv("GRIDLOOM_CLANG", str(clang))
    monkeypatch.setattr(driver, "TIME_LIMIT", 0.3)
    path = c_file(LOOP)
    assert refusal(path) == f"{path}: clang did not end within 0.3 s and was stopped"
    time.sleep(1.2)
    assert not (tmp_path / "left").exists()


@pytest.mark.parametrize("name", ["größe", "\ufeff\ufefff"])
def test_names_beyond_ascii_are_read_as_they_are_written(c_file, name):
    dfg = load(c_file(f"void {name}(int *für, int n) {{ for (int i = 0; i < n; i++) für[i] += 2; }}\n")).dfg
    assert dfg.name == f"loop.{name}"
