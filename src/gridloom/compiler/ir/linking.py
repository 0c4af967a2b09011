"""Modules of LLVM IR put together and cut down, by llvmlite: several files, names of C++, what a function reaches."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from gridloom.errors import MissingExtra, SourceError, install_hint

#: A function or a variable of C++ in no namespace: its length and its name.
_MANGLED: Final = re.compile(r"_ZL?(\d+)(.*)", re.S)


def parse_module(text: str, where: str) -> Any:
    """The module of a text, as llvmlite has it. SourceError where it does not read it."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise MissingExtra(f"C sources need llvmlite: {install_hint('c')}") from None
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        raise SourceError(f"llvmlite does not read clang's IR: {str(error).strip()[:200]}", where=where) from None


def link_texts(texts: Sequence[str], where: str) -> str:
    """The module of some others, with plain names for what C++ has mangled. SourceError for a name defined twice."""
    modules = [parse_module(text, where) for text in texts]
    for module in modules:
        name_plainly(module)
    whole = modules[0]
    for module in modules[1:]:
        try:
            whole.link_in(module)
        except RuntimeError as error:
            raise SourceError(f"the files do not go together: {str(error).strip()[:200]}", where=where) from None
    return str(whole)


def name_plainly(module: Any) -> None:
    """Give what is defined in C++ the name that its text has, where no other has it (overloads keep theirs)."""
    taken = {value.name for value in (*module.functions, *module.global_variables)}
    plain: dict[str, list[Any]] = {}
    for value in (*module.functions, *module.global_variables):
        match = _MANGLED.fullmatch(value.name)
        if match and len(match[2]) >= int(match[1]) and not value.is_declaration:
            plain.setdefault(match[2][: int(match[1])], []).append(value)
    for name, values in plain.items():
        if len(values) == 1 and name not in taken:
            values[0].name = name


def keep_reachable(text: str, roots: Collection[str], where: str) -> str:
    """The module with some functions, and what they reach; all of it where none of them is there.

    Costs a parse and a run of LLVM's removal of dead globals; linear in the text.
    """
    module = parse_module(text, where)
    values = [*module.functions, *module.global_variables]
    if not any(value.name in roots and not value.is_declaration for value in values):
        return text
    linkages = {}
    for value in values:
        if not value.is_declaration and value.name not in roots and not value.name.startswith("llvm."):
            linkages[value.name] = value.linkage
            value.linkage = "internal"
    remove_unreachable(module)
    for value in (*module.functions, *module.global_variables):
        if value.name in linkages:
            value.linkage = linkages[value.name]
    return str(module)


def remove_unreachable(module: Any) -> None:
    """Remove functions and variables that nothing external refers to."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)
