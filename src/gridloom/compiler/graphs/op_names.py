"""What published op names mean in our op table, so that op classes come out right.

Floating-point names map to the plain ones: published graphs are uninterpreted, and their arrays have one adder and one
multiplier whatever the number format.
"""

from __future__ import annotations

from typing import Final

_MEANS: Final = {
    "add": "add iadd fadd sum getelementptr gep",
    "sub": "sub isub fsub",
    "mul": "mul mult mults fmul",
    "div": "div sdiv fdiv",
    "udiv": "udiv",
    "rem": "rem srem frem",
    "urem": "urem",
    "shl": "shl ls shift lsl",
    "lshr": "lshr rs lsr",
    "shr": "shr ashr asr ars",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "not": "not",
    "neg": "neg fneg",
    "eq": "eq cmp",
    "ne": "ne",
    "lt": "lt clt slt les",
    "gt": "gt cgt sgt",
    "select": "select mux bsfa bzfa",
    "move": "move mov movc copy reg ff route",
    "load": "load ld lod loadb loadh oload oloadb oloadh",
    "store": "store st str storeb storeh ostore ostoreb",
    "input": "input in",
    "output": "output out",
    "const": "const",
}

MEANING: Final = {word: op for op, words in _MEANS.items() for word in words.split()}


def meaning(name: str) -> str:
    """Our op for a published name; a name that is not known stays itself, in lower case.

    >>> meaning("MULT"), meaning("phi")
    ('mul', 'phi')
    """
    lower = name.lower()
    return MEANING.get(lower, lower)


def stem(name: str) -> str:
    """The letters that a node's name starts with, in lower case: ``MULT12`` and ``mult_3`` are ``mult``.

    >>> stem("MULT12"), stem("ADD_239_AUX_15"), stem("17")
    ('mult', 'add', '')
    """
    end = next((k for k, character in enumerate(name) if not character.isalpha()), len(name))
    return name[:end].lower()
