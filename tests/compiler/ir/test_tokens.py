"""Tokens of LLVM's assembly language, and what a module may have that runs on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.compiler.ir.metadata import Metadata, split_metadata
from gridloom.compiler.ir.native_module import check_module
from gridloom.compiler.ir.tokens import decode_bytes, first_name, is_number, plain, split_tokens, with_letters
from gridloom.errors import SourceError

WORDS = ("%a.1", "@x", '%"a b,c"', "i32", "-7", "align", '!"llvm.loop.mustprogress"', "!dbg", "#3", 'c"a,[\\22"')


@given(st.lists(st.sampled_from((*WORDS, *"()[]{}<>,="))))
def test_tokens_are_what_the_line_was_made_of(tokens: list[str]) -> None:
    assert split_tokens(" ".join(tokens)) == tokens
    # Brackets need no spaces around them.
    close = "".join(token if token in "()[]{}<>,=" else f" {token} " for token in tokens)
    assert split_tokens(close) == tokens


@given(st.binary())
def test_bytes_come_back_as_llvm_writes_them(data: bytes) -> None:
    text = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    assert decode_bytes(text) == data


@pytest.mark.parametrize(
    ("text", "name"), [("x.1, align 4", "x.1"), ('"a b" ]', '"a b"'), ("[2 x i8]", ""), ("12 ]", "12"), ("", "")]
)
def test_first_name_ends_where_the_name_does(text: str, name: str) -> None:
    assert first_name(text) == name


def test_names_beyond_ascii_are_read() -> None:
    assert plain('"gr\\C3\\B6\\C3\\9Fe"') == "größe"
    assert with_letters('"\\C3\\BC\\22\\5C"') == '"ü\\22\\5C"'


def test_numbers_have_a_sign_or_none() -> None:
    assert [is_number(text) for text in ("12", "-3", "--3", "1.5", "", "x", "²")] == [True, True, *[False] * 5]


def test_metadata_is_taken_apart() -> None:
    records = Metadata(
        '!1 = distinct !DISubprogram(name: "f\\C3\\BC", scope: !2, line: 7, spFlags: DISPFlagLocalToUnit | '
        'DISPFlagDefinition, templateParams: !{!3, !4})\n!2 = !{!1, null, !"a, b"}\n!llvm.ident = !{!9}\n'
    )
    program = records[1]
    assert program.kind == "!DISubprogram" and program.text("name") == "fü" and program.number("line") == 7
    assert program.reference("scope") == 2 and program.number("name") is None and program.reference("line") is None
    assert program.fields["spFlags"] == "DISPFlagLocalToUnit | DISPFlagDefinition"
    assert records[2].items == ("!1", "null", '!"a, b"') and records[2].references == [1]
    assert records[9].kind == "" and records[None].items == ()
    assert [number for number, _ in records.of_kind("!DISubprogram")] == [1]


def test_metadata_of_a_line_is_at_its_end() -> None:
    assert split_metadata("  br label %a, !dbg !4, !llvm.loop !9") == ("  br label %a", {"dbg": 4, "llvm.loop": 9})
    assert split_metadata("  call void @f(metadata !4)") == ("  call void @f(metadata !4)", {})


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('module asm "nop"', "assembly"),
        ('  call void asm sideeffect "nop", ""()', "assembly"),
        ('  callbr void asm "", ""() to label %a []', "assembly"),
        ("@llvm.global_ctors = appending global [0 x ptr] []", "a constructor or destructor"),
        ("@llvm.global_dtors = appending global [0 x ptr] []", "a constructor or destructor"),
        ("@f = ifunc void (), ptr @r", "an ifunc"),
        ('@"f g" = weak alias i32, ptr @y', "an alias"),
        ('@x = global i32 0, section ".init", align 4', "a section of its own"),
        ('define void @f() partition "p" {', "a section of its own"),
        ('declare void @f() section"x"', "a section of its own"),
        ("define void @f() personality ptr @g {", "code before a function"),
        ("define void @f() prefix i32 1 {", "code before a function"),
        ("define void @f() prologue i32 1 {", "code before a function"),
        ("@x = internal thread_local(initialexec) global i32 0", "a thread-local variable"),
        ("attributes #0 = { naked nounwind }", "a naked function"),
        ("!llvm.linker.options = !{!1}", "words for the linker"),
        ("!llvm.dependent-libraries = !{!1}", "words for the linker"),
        ("@x = addrspace(1) global i32 0", "a pointer to another address space"),
        ("define void @f(ptr addrspace(3) %p) {", "a pointer to another address space"),
    ],
)
def test_module_that_may_not_run_is_refused(line: str, what: str) -> None:
    with pytest.raises(SourceError) as error:
        check_module(f"; a module\n{line}\n", Path("x.c"))
    assert str(error.value) == f"x.c: has {what}; it is not run on this machine"


@pytest.mark.parametrize(
    "line",
    ['@asm = global [4 x i8] c"asm\\00"', "  %alias = load i32, ptr @asm",
     "define void @section(ptr addrspace(0) %p) {",
     '@llvm.used = appending global [1 x ptr] [ptr @x], section "llvm.metadata"', 'attributes #0 = { "naked"="x" }'],
)  # fmt: skip
def test_names_and_quoted_texts_are_no_words(line: str) -> None:
    check_module(f"{line}\n", Path("x.c"))


def test_name_that_is_taken_as_it_is_written_is_refused() -> None:
    with pytest.raises(SourceError, match="a name that is not its own"):
        check_module('declare void @"\\01secret"()\n', Path("x.c"))
