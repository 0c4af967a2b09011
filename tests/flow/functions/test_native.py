"""Compiled C runs only what the front end has read, and reaches nothing but its own data.

Each hostile source tries to leave a file ``marker`` behind or to bring in a file from outside. It must be refused
before anything runs, or be stopped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from gridloom.compiler.c.function.host_calls import known
from gridloom.compiler.c.function.signature import read_signature
from gridloom.compiler.confinement import FUNCTION_CALLS, IDLE_CALLS, PROGRAM_CALLS, Sandbox, find_sandbox
from gridloom.compiler.ir.native_module import check_module, native_module
from gridloom.errors import SourceError
from gridloom.flow.functions import native
from gridloom.flow.functions.compile import compile_function
from gridloom.flow.functions.native import Crash, NativeFunction, native_output

pytest.importorskip("llvmlite")
pytest.importorskip("ziglang")
pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(sys.platform != "linux" or not find_sandbox().confines, reason="nothing confines native code"),
]

BODY = "int f(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n"
#: Creates a file by a system call of 32-bit x86.
CREATE = '__asm__ volatile("int $0x80" : : "a"(8), "b"("marker"), "c"(0644));'
X86 = "__attribute__((constructor)) static void c(void) { " + CREATE + " }\n"

#: A source, and what the refusal says of it; {} is the folder of the test.
REFUSED = {
    "assembly": ("int f(int *a, int n) { " + CREATE + " return n; }", "assembly"),
    "assembly in a function that nobody calls": ("void g(void) { " + CREATE + " }\n" + BODY, "assembly"),
    "assembly in a macro": ("#define RUN " + CREATE + "\nint f(int *a, int n) { RUN return n; }", "assembly"),
    "assembly with goto": ('int f(int *a, int n) { asm goto("" : : : : out); out: return n; }', "assembly"),
    "assembly without words": ('int f(int *a, int n) { asm(""); return n; }', "assembly"),
    "assembly by another spelling": ('int f(int *a, int n) { __asm("nop"); return n; }', "assembly"),
    "assembly in a header": ('#include "asm.h"\n' + BODY, "assembly"),
    "assembly in a static inline function": (
        "static inline void g(void) { " + CREATE + " }\nint f(int *a, int n) { g(); return n; }", "assembly"),
    "assembly of the whole file": ('asm(".globl g; g: ret");\n' + BODY, "assembly"),
    "a file put in by the assembler": ('asm(".incbin \\"/etc/passwd\\"");\n' + BODY, "assembly"),
    "an include by the assembler": ('asm(".include \\"/etc/passwd\\"");\n' + BODY, "assembly"),
    "a naked function": ("__attribute__((naked)) int g(void) { asm(\"ret\"); }\n" + BODY, "assembly"),
    "a constructor": (
        "int n_; __attribute__((constructor)) static void c(void) { n_ = 1; }\n" + BODY, "a constructor or destructor"),
    "a constructor with a priority": (
        "int n_; __attribute__((constructor(101))) void c(void) { n_ = 1; }\n" + BODY, "a constructor or destructor"),
    "a destructor": (
        "int n_; __attribute__((destructor)) void c(void) { n_ = 1; }\n" + BODY, "a constructor or destructor"),
    "a constructor by a macro": (
        "int n_;\n#define A __attribute__((constructor))\nA void c(void) { n_ = 1; }\n" + BODY,
        "a constructor or destructor"),
    "an entry of the list of constructors": (
        "int n_; static void c(void) { n_ = 1; }\n"
        '__attribute__((used, section(".init_array"))) void (*p)(void) = c;\n' + BODY, "a section of its own"),
    "an entry of the older list": (
        'int n_; void c(void) { n_ = 1; }\n__attribute__((section(".ctors"))) void (*p)(void) = c;\n' + BODY,
        "a section of its own"),
    "code in a section of its own": ('__attribute__((section(".text.x"))) ' + BODY, "a section of its own"),
    "a section by a pragma": ('#pragma clang section text=".init"\n' + BODY, "a section of its own"),
    "an alias": ("int g(void) { return 1; } int h(void) __attribute__((alias(\"g\")));\n" + BODY, "an alias"),
    "an alias by a pragma": ("int g(void) { return 1; }\n#pragma weak h = g\nint h(void);\n" + BODY, "an alias"),
    "a function under another name": (
        'int g(const char *) __asm__("system");\nint f(int *a, int n) { return g("touch marker"); }', "calls 'system'"),
    "a definition under another name": (
        'int g(void) __asm__("\\1_init");\nint g(void) { return 1; }\n' + BODY, "asm label"),
    "a thread-local variable": ("_Thread_local int t;\nint f(int *a, int n) { return t++ + n; }", "thread-local"),
    "a shell": (
        "int system(const char *);\nint f(int *a, int n) { return system(\"touch marker\"); }", "calls 'system'"),
    "a file of the C library": (
        "#include <stdio.h>\nint f(int *a, int n) { return fopen(\"marker\", \"w\") != 0; }", "calls 'fopen'"),
    "a pointer to a library function": (
        "int system(const char *);\nint (*p)(const char *) = system;\n"
        "int f(int *a, int n) { return p(\"touch marker\"); }",
        "calls 'system'"),
    "a system call": (
        "long syscall(long, ...);\nint f(int *a, int n) { return syscall(8, \"marker\", 0644); }", "calls 'syscall'"),
    "memory that may be executed": (
        "#include <sys/mman.h>\nint f(int *a, int n) { return mprotect(a, 4096, 7); }", "calls 'mprotect'"),
    "another process": ("#include <unistd.h>\nint f(int *a, int n) { return fork(); }", "calls 'fork'"),
    "the environment": ("extern char **environ;\nint f(int *a, int n) { return environ[0][0]; }", "uses 'environ'"),
    "printing": ('#include <stdio.h>\nint f(int *a, int n) { printf("%d", n); return n; }', "calls 'printf'"),
    "a directive that a macro makes": ('#define H #\nH include "{}/secret.h"\n' + BODY, "is not taken"),
    "a directive of a digraph that a macro makes": ('#define H %:\nH include "{}/secret.h"\n' + BODY, "is not taken"),
    "a question of a pragma": ('#pragma GCC dependency "{}/secret.h"\n' + BODY, "asks for a dependency"),
    "a question of a pragma operator": (
        '_Pragma("GCC dependency \\"/etc/passwd\\"")\n' + BODY, "asks for a dependency"),
    "words for the linker": ('#pragma comment(lib, "{}/secret.a")\n' + BODY, "words for the linker"),
    "a file of the machine": ('#ifdef __riscv\n#include "/etc/passwd"\n#endif\n' + BODY, "outside the folder"),
    "a file above": ('#include "../secret.h"\n' + BODY, "outside the folder"),
    "a link that leads outside": ('#include "link.h"\n' + BODY, "outside the folder"),
    "a name that macros put together": (
        "#define S(x) #x\n#define T(x) S(x)\n#include T({}/secret.h)\n" + BODY, "macros put the name together"),
    "a question for a file of the machine": ('#if __has_include("/etc/shadow")\nint x;\n#endif\n' + BODY, "asks for"),
    "a question by a macro": ('#define Q(x) __has_include(x)\n#if Q("/etc/passwd")\n#endif\n' + BODY, "takes a name"),
    "a question that macros put together": (
        '#define P(a, b) a##b\n#if P(__has_, include)("/etc/passwd")\n#endif\n' + BODY, "outside the folder"),
    "a question over a link": ('#if __has_include("link.h")\n#endif\n' + BODY, "asks for"),
    "embedded bytes": ('const char d[] = {\n#embed "/etc/passwd"\n};\n' + BODY, "#embed is not taken"),
    "embedded bytes asked for": ('#if __has_embed("/etc/passwd")\n#endif\n' + BODY, "asks for"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of sources with a secret beside it."""
    (tmp_path / "secret.h").write_text("int secret = 1;\n")
    inside = tmp_path / "sources"
    inside.mkdir()
    (inside / "asm.h").write_text('static inline void g(void) { __asm__("nop"); }\nint h(void) { g(); return 1; }\n')
    (inside / "link.h").symlink_to(tmp_path / "secret.h")
    return inside


def written(folder: Path, text: str) -> Path:
    path = folder / "source.c"
    path.write_text(text.replace("{}", str(folder.parent)))
    return path


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_source_is_refused_in_one_line_before_anything_runs(folder, name):
    text, reason = REFUSED[name]
    with pytest.raises(SourceError) as caught:
        native_module(written(folder, text), "f", (), known)
    assert reason in str(caught.value) and "\n" not in str(caught.value)
    assert not list(folder.parent.rglob("marker"))


def test_more_than_thirty_hostile_sources_are_tried():
    assert len(REFUSED) >= 36


@pytest.mark.parametrize(
    "text",
    [
        '#ifdef __i386__\nint f(int *a, int n) { ' + CREATE + ' return 1; }\n#else\n' + BODY + "#endif\n",
        '#if defined(__x86_64__) || !defined(__riscv)\n' + X86 + "#endif\n" + BODY,
        "#include <limits.h>\n#if __SIZEOF_POINTER__ == 8\n" + X86 + "#endif\n" + BODY,
        '#ifdef __i386__\n#include "/etc/passwd"\n#endif\n' + BODY,
        '#ifndef __riscv\n#include "../secret.h"\n#endif\n' + BODY,
    ],
)  # fmt: skip
def test_a_branch_for_another_machine_is_not_compiled(folder, text):
    module = native_module(written(folder, text), "f", (), known)
    assert "asm" not in module and "ctors" not in module and "secret" not in module


def test_what_the_function_does_not_reach_is_not_compiled(folder):
    text = (
        "#include <stdio.h>\n#include <stdlib.h>\n" + BODY + 'int main(void) { system("x"); return printf("%d", 1); }\n'
    )
    module = native_module(written(folder, text), "f", (), known)
    assert "printf" not in module and "system" not in module


@pytest.mark.parametrize("words", ['module asm "nop"', "@x = alias i32, ptr @y", "@f = ifunc void (), ptr @r"])
def test_the_check_of_a_module_finds_what_it_is_there_for(words):
    with pytest.raises(SourceError, match="it is not run on this machine"):
        check_module(words + "\n", Path("x.c"))


def test_names_and_texts_that_look_like_assembly_are_taken(folder):
    text = (
        'int alias, section, ifunc; const char t[] = "module asm\\n call asm";\nint naked(int x) { return x + t[0]; }\n'
    )
    text += "int f(int *alias_, int n) { alias++; section++; ifunc++; return naked(n); }\n"
    assert "gridloom_entry" in native_module(written(folder, text), "f", ("alias", "section", "ifunc"), known)


# -- what confines a run ----------------------------------------------------------------------------------------------

HERE = find_sandbox()
SANDBOXES = {
    "both": HERE,
    "seccomp alone": Sandbox(seccomp=True, bubblewrap=""),
    "bubblewrap alone": Sandbox(seccomp=False, bubblewrap=HERE.bubblewrap),
}


@pytest.fixture(params=SANDBOXES)
def sandbox(request) -> Sandbox:
    found = SANDBOXES[request.param]
    if (found.seccomp and not HERE.seccomp) or (not found.seccomp and not HERE.bubblewrap):
        pytest.skip("not on this machine")
    return found


def attempt(folder: Path, sandbox: Sandbox, statements: str) -> str:
    """What the driver's own process can do after it is confined: the answer of a system call, or how it ended."""
    text = native._system_text(sandbox, FUNCTION_CALLS) + (
        "extern int gridloom_entry(void);\n__attribute__((force_align_arg_pointer)) void _start(void) {\n"
        f"  gridloom_limits(); gridloom_confine();\n  int r = gridloom_entry(); {statements}\n"
        "  gridloom_write(&r, 4); gridloom_exit(0); }\n"
    )
    module = native_module(written(folder, "int f(void) { return 0; }\n"), "f", (), known)
    program = native.built_program(folder, folder / "source.c", text, module)
    try:
        raw = native.run_in_sandbox(sandbox, program, b"", 4, 10.0, folder / "source.c")
    except Crash as error:
        return error.message
    return str(int.from_bytes(raw, "little", signed=True))


@pytest.mark.parametrize(
    "statements",
    [
        'r = gridloom_call(8, (int)"marker", 0644, 0, 0, 0);',
        'r = gridloom_call(5, (int)"/etc/passwd", 0, 0, 0, 0);',
        'r = gridloom_call(39, (int)"marker", 0755, 0, 0, 0);',
        'r = gridloom_call(11, (int)"/bin/sh", 0, 0, 0, 0);',
        "r = gridloom_call(2, 0, 0, 0, 0, 0); if (r > 0) gridloom_exit(0);",
    ],
    ids=["create", "open", "mkdir", "exec", "fork"],
)
def test_a_confined_process_reaches_nothing(folder, sandbox, statements):
    if "call(2," in statements and not sandbox.seccomp and os.getuid() == 0:
        pytest.skip("the system does not count processes of root; bubblewrap keeps them in its own namespace")
    answer = attempt(folder, sandbox, statements)
    assert answer == "the compiled function made a system call and was stopped" or int(answer) < 0
    assert not list(folder.rglob("marker"))


def test_without_a_sandbox_the_same_attempt_succeeds(folder):
    """The planted fault: it is the sandbox that stops the attempt."""
    text = f'r = gridloom_call(39, (int)"{folder}/marker", 0755, 0, 0, 0);'
    assert attempt(folder, Sandbox(False, ""), text) == "0"
    assert list(folder.rglob("marker"))


@pytest.mark.parametrize("number", [0, 1, 4, 6, 7, 9])
def test_limits_hold_in_every_sandbox(folder, number):
    """The limits of processor time, file size, core, processes, files and memory, as the process reads them."""
    most = {0: 30, 1: 0, 4: 0, 6: 0, 7: 3, 9: 2**31 - 4096}[number]
    text = f"unsigned l[2]; gridloom_call(191, {number}, (int)l, 0, 0, 0); r = (int)l[1];"
    assert int(attempt(folder, Sandbox(False, ""), text)) == most


def run(folder: Path, text: str, sandbox: Sandbox, seconds: float = 10.0) -> native.NativeOutcome:
    path = written(folder, text)
    from gridloom.flow.functions.data import read_arguments

    signature = read_signature(path, "f")
    arguments = read_arguments(signature, {"a": np.arange(4, dtype=np.int32), "n": 4}, None)
    return NativeFunction(path, signature, (), sandbox).run(arguments, {}, seconds)


def test_a_function_runs_in_every_sandbox(folder, sandbox):
    assert run(folder, BODY, sandbox).value == 6


def test_data_are_not_executed(folder, sandbox):
    text = "const unsigned char code[] = {0xcd, 0x80, 0xc3};\n"
    text += "int f(int *a, int n) { return ((int (*)(int, int))code)(8, n); }\n"
    with pytest.raises(Crash):
        run(folder, text, sandbox)


def test_an_endless_loop_is_stopped(folder, sandbox):
    with pytest.raises(SourceError, match=r"the compiled function did not end within 0\.5 s"):
        run(folder, "int f(int *a, int n) { volatile int x = 1; while (x) x = 1; return n; }\n", sandbox, 0.5)


def test_a_crash_is_said(folder, sandbox):
    with pytest.raises(Crash, match="ended with status"):
        run(folder, "int f(int *a, int n) { return *(volatile int *)16 + n; }\n", sandbox)


def test_nothing_runs_where_nothing_confines_it(folder):
    with pytest.raises(SourceError, match="neither seccomp nor bubblewrap"):
        run(folder, BODY, Sandbox(False, ""))


def test_filters_know_which_calls_a_library_makes_in_passing():
    assert not set(IDLE_CALLS) & set(PROGRAM_CALLS)


# -- whole programs and comparisons -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_program_prints_and_is_confined(folder, sandbox):
    text = '#include <stdio.h>\nint main(void) { for (int i = 0; i < 3; i++) printf("%d\\n", i); return 0; }\n'
    assert native_output(written(folder, text), sandbox=sandbox) == "0\n1\n2\n"


@pytest.mark.parametrize("call", ['fopen("marker", "w")', 'getenv("HOME")', 'remove("source.c")'])
def test_a_program_that_calls_more_is_refused(folder, call):
    text = f"#include <stdio.h>\n#include <stdlib.h>\nint main(void) {{ {call}; return 0; }}\n"
    with pytest.raises(SourceError, match="which is none of the library functions"):
        native_output(written(folder, text))


@pytest.fixture
def compiled(folder):
    return compile_function(f"{written(folder, BODY)}:f", "torus:4x4", effort=2000)


def test_without_native_code_the_interpreted_ir_is_compared(compiled):
    done = compiled.run(native=False, a=np.arange(8, dtype=np.int32), n=8)
    assert done.native.agrees and done.native.label == "the interpreted IR" and not done.native.note


def test_the_interpreted_ir_finds_a_wrong_value(compiled, monkeypatch):
    from gridloom.flow.functions import run as runs

    monkeypatch.setattr(runs, "_interpreted", lambda *_: native.NativeOutcome(value=np.int32(1), objects={}))
    done = compiled.run(native=False, a=np.arange(8, dtype=np.int32), n=8)
    assert done.native.differences == ("returned 28, the interpreted IR returned 1",)


def test_native_code_that_cannot_run_leaves_values_cycles_and_a_note(compiled, monkeypatch):
    def late(*_args):
        raise SourceError("clang did not end within 120 s and was stopped", where="x.c")

    monkeypatch.setattr(compiled.native, "run", late)
    done = compiled.run(a=np.arange(8, dtype=np.int32), n=8)
    assert done.value == 28 and done.cycles and done.native.agrees
    assert done.native.note == "clang did not end within 120 s and was stopped"


def test_a_crash_of_native_code_is_a_difference(compiled, monkeypatch):
    def crash(*_args):
        raise Crash("the compiled function ended with status -11", where="x.c")

    monkeypatch.setattr(compiled.native, "run", crash)
    assert compiled.run(a=np.arange(8, dtype=np.int32), n=8).native.differences


def test_a_file_with_printf_elsewhere_is_compared_with_compiled_code(folder):
    text = "#include <stdio.h>\n" + BODY + 'int main(void) { return printf("%d", 1); }\n'
    made = compile_function(f"{written(folder, text)}:f", "torus:4x4", effort=2000)
    done = made.run(a=np.arange(8, dtype=np.int32), n=8)
    assert done.native.agrees and done.native.label == "compiled C"
