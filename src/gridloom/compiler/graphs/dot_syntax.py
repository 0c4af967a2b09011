"""The DOT language: text to nodes, edges and attributes, without any idea of what they mean.

Our own parser, because the two that can be installed do not serve. Over the 115 DOT files of the published graphs
rustworkx 0.18 ``from_dot`` refuses 34 (anonymous subgraphs, ``a->b`` without blanks), and pydot 4.0 takes 43 s where
this one takes 0.3 s (21 s against 0.3 s for 10,000 edges; CPU time) and ends in a RecursionError on nested braces.

The parser takes ``strict``, quoted and concatenated ids, comments, attribute lists, scoped defaults, edge chains,
subgraphs as edge ends, ports (dropped) and optional semicolons. It refuses undirected graphs and HTML-like ids with a
reason. The scanner is linear in the text; braces are kept on a stack of at most :data:`MAX_DEPTH`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn

from gridloom.compiler.graphs.dot_writer import field_attributes
from gridloom.dfg.checks import MAX_EDGES, MAX_NODES
from gridloom.errors import SourceError
from gridloom.text_file import line_of, shown

MAX_DEPTH: Final = 64

# Words of a text: a graph of the most nodes and edges that are taken has fewer, and more take half a minute to read.
_MAX_TOKENS: Final = 8_000_000

#: Attributes that foreign dialects read, and those of the graph in our own. With those of nodes and edges in our own
#: they are kept; others are parsed and dropped, so that defaults cannot multiply in memory.
_KEPT: Final = frozenset(
    {"arrays", "const_value", "datatype", "domain", "format", "label", "notes", "opcode", "type", "version"}
)

_SKIP = re.compile(r"(?:\s++|//[^\n]*+|\#[^\n]*+)*+")
_TOKEN = re.compile(
    r"(?P<id>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)"
    r"|(?P<number>0[xX][0-9A-Fa-f]++|-?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?))"
    r"|->|--|;[\s;]*+|[{}\[\]=:,+]"
)
_QUOTE_OR_ESCAPE = re.compile(r'["\\]')


class Token(NamedTuple):
    """A word of the text: ``kind`` is ``id``, ``quoted``, ``end`` or the punctuation itself."""

    kind: str
    text: str
    offset: int


@dataclass(slots=True)
class DotNode:
    """A node and its attributes, defaults included.

    ``offset`` is where its last attribute list, or else its first mention, stands in the text.
    """

    id: str
    attributes: dict[str, str]
    offset: int


@dataclass(slots=True)
class DotEdge:
    """An edge and its attributes, defaults included.

    ``offset`` is where its statement's last end stands in the text.
    """

    source: str
    target: str
    attributes: dict[str, str]
    offset: int


@dataclass(slots=True)
class DotGraph:
    """What a DOT text says.

    Nodes are in the order of their first mention, edges in the order of the text.
    """

    name: str
    text: str = field(repr=False)
    strict: bool = False
    attributes: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, DotNode] = field(default_factory=dict)
    edges: list[DotEdge] = field(default_factory=list)

    def line(self, item: DotNode | DotEdge) -> int:
        """The line of a node or an edge. O(text): for messages."""
        return line_of(self.text, item.offset)


def parse(text: str, where: str) -> DotGraph:
    """The graph in a DOT text; a SourceError names the line, what was found and what was expected.

    >>> graph = parse("digraph g { node [op=add]; a -> {b c} [operand=1] }", "text")
    >>> [(edge.source, edge.target, edge.attributes) for edge in graph.edges]
    [('a', 'b', {'operand': '1'}), ('a', 'c', {'operand': '1'})]
    >>> graph.nodes["a"].attributes
    {'op': 'add'}
    """
    return _Parser(text, where).run()


def _tokens(text: str, where: str) -> Iterator[Token]:
    """The words of a text, the end among them; SourceError for a character that starts none.

    The patterns are possessive (``++``), so that no text makes the scanner go back: reading is linear whatever the
    file.
    """
    position, end = 0, len(text)
    for count in itertools.count():
        if count > _MAX_TOKENS:
            _fail(text, position, where, f"has more than {_MAX_TOKENS} words, the most that is taken")
        position = _SKIP.match(text, position).end()  # type: ignore[union-attr]
        if position >= end:
            yield Token("end", "", end)
            return
        if text.startswith("/*", position):
            close = text.find("*/", position + 2)
            if close < 0:
                _fail(text, position, where, "a comment is opened by /* and never closed")
            position = close + 2
            continue
        if text[position] == '"':
            token, position = _quoted(text, position, where)
            yield token
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            _fail(text, position, where, _unexpected(text[position]))
        word = match.group()
        following = text[match.end() : match.end() + 1]
        if match.lastgroup == "number" and (following.isalpha() or following == "_"):
            _fail(text, position, where, "an id that starts with a digit must be a number or stand in quotes")
        yield Token("id" if match.lastgroup else ";" if word[0] == ";" else word, word, position)
        position = match.end()


def _unexpected(character: str) -> str:
    """What is wrong with a character that starts no word."""
    if character == "<":
        return "HTML-like ids (<...>) are not taken; put the text in quotes"
    return f"unexpected character {character!r}; ids with such characters must stand in quotes"


def _quoted(text: str, start: int, where: str) -> tuple[Token, int]:
    r"""A quoted id and the position behind it.

    Only the escapes that DOT itself defines are resolved; ``\n`` and the like stay for whoever knows the dialect.
    """
    parts: list[str] = []
    position = start + 1
    while True:
        match = _QUOTE_OR_ESCAPE.search(text, position)
        if match is None or match.end() > len(text) - (match.group() == "\\"):
            _fail(text, start, where, "a quoted id is opened and never closed")
        parts.append(text[position : match.start()])
        position = match.end()
        if match.group() == '"':
            return Token("quoted", "".join(parts), start), position
        # As Graphviz: \" is a quote, a backslash before a line end joins lines, any other escape stays as written.
        escaped = text[position]
        position += 1
        if escaped != "\n":
            parts.append(escaped if escaped == '"' else "\\" + escaped)


def _fail(text: str, offset: int, where: str, message: str) -> NoReturn:
    """Raise a SourceError for what stands at an offset of the text."""
    raise SourceError(message, where=f"{where}:{line_of(text, offset)}")


@dataclass(slots=True)
class _Scope:
    """One pair of braces: defaults, nodes mentioned inside, and the edge chain that waits for it to close."""

    node_defaults: dict[str, str]
    edge_defaults: dict[str, str]
    members: dict[str, None] = field(default_factory=dict)
    chain: list[list[str]] = field(default_factory=list)


class _Parser:
    """A recursive grammar parsed with an explicit stack, since the depth of braces is the user's.

    ``scopes`` is that stack; an edge chain that has a subgraph as an end is suspended in the subgraph's scope and
    goes on when its brace closes. ``pairs`` is used for strict graphs only.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.stream = _tokens(text, where)
        self.token = next(self.stream)
        self.last_offset = 0
        self.graph = DotGraph(name="", text=text)
        self.scopes: list[_Scope] = []
        self.pairs: dict[tuple[str, str], DotEdge] = {}
        self.kept = _KEPT | field_attributes()

    # -- tokens -----------------------------------------------------------------------------------------------------

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise a SourceError at a token, the current one by default."""
        _fail(self.text, (token or self.token).offset, self.where, message)

    def advance(self) -> Token:
        """Take the current token and read the next one."""
        token = self.token
        self.last_offset = token.offset
        if token.kind != "end":
            self.token = next(self.stream)
        return token

    def accept(self, kind: str) -> bool:
        """Take the current token if it is of that kind."""
        if self.token.kind == kind:
            self.advance()
            return True
        return False

    def expect(self, kind: str, after: str) -> None:
        """Take a token of that kind, or fail with what was found instead."""
        if not self.accept(kind):
            self.fail(f"expected {kind!r} {after}, found {self.found()}")

    def found(self) -> str:
        """The current token as a message names it."""
        return "the end of the text" if self.token.kind == "end" else shown(self.token.text)

    def keyword(self, word: str) -> bool:
        """True when the current token is that keyword.

        DOT's keywords may be in any case; a quoted word is none.
        """
        return self.token.kind == "id" and self.token.text.lower() == word

    def identifier(self, what: str) -> Token:
        """Take an id; quoted parts that are joined by + are one."""
        if self.token.kind not in ("id", "quoted"):
            self.fail(f"expected {what}, found {self.found()}")
        token = self.advance()
        if token.kind == "quoted" and self.token.kind == "+":
            parts = [token.text]
            while self.accept("+"):
                if self.token.kind != "quoted":
                    self.fail(f"expected a quoted id after '+', found {self.found()}")
                parts.append(self.advance().text)
            token = Token("quoted", "".join(parts), token.offset)
        return token

    # -- grammar ----------------------------------------------------------------------------------------------------

    def run(self) -> DotGraph:
        """Parse the whole text."""
        if self.keyword("strict"):
            self.graph.strict = True
            self.advance()
        if self.keyword("graph"):
            self.fail("is an undirected graph; a dataflow graph needs 'digraph'")
        if not self.keyword("digraph"):
            self.fail(f"expected 'digraph', found {self.found()}")
        self.advance()
        if self.token.kind in ("id", "quoted"):
            self.graph.name = self.identifier("a graph name").text
        self.expect("{", "after the graph's name")
        self.scopes = [_Scope({}, {})]
        while self.scopes:
            self.statement()
        if self.token.kind != "end":
            self.fail(f"expected the end of the text after the graph, found {self.found()}")
        return self.graph

    def statement(self) -> None:
        """Parse one statement: a brace, an attribute, defaults, a node or an edge chain."""
        scope = self.scopes[-1]
        if self.accept(";"):
            return
        if self.accept("}"):
            self.close_scope()
        elif self.token.kind == "end":
            self.fail("the text ends inside the graph; a '}' is missing")
        elif self.keyword("node"):
            self.advance()
            scope.node_defaults = self.attributes(scope.node_defaults, required=True)
        elif self.keyword("edge"):
            self.advance()
            scope.edge_defaults = self.attributes(scope.edge_defaults, required=True)
        elif self.keyword("graph"):
            self.advance()
            given = self.attributes({}, required=True)
            if len(self.scopes) == 1:
                self.graph.attributes.update(given)
        elif self.token.kind == "{" or self.keyword("subgraph"):
            self.open_scope([])
        else:
            self.node_or_edge(scope)

    def node_or_edge(self, scope: _Scope) -> None:
        """Parse a statement that begins with an id."""
        name = self.identifier("a node, an edge, an attribute or '}'")
        if self.accept("="):
            value = self.identifier(f"a value for {name.text}").text
            if len(self.scopes) == 1 and name.text in self.kept:
                self.graph.attributes[name.text] = value
            return
        self.port()
        node = self.mention(name, scope)
        if self.token.kind in ("->", "--"):
            self.chain([[name.text]])
        elif self.token.kind == "[":
            node.attributes = self.attributes(node.attributes)
            node.offset = name.offset

    def mention(self, name: Token, scope: _Scope) -> DotNode:
        """The node of an id, made with the defaults of its scope at its first mention."""
        scope.members[name.text] = None
        node = self.graph.nodes.get(name.text)
        if node is None:
            if len(self.graph.nodes) >= MAX_NODES:
                self.fail(f"has more than {MAX_NODES} nodes, the most that is taken", name)
            node = DotNode(name.text, scope.node_defaults, name.offset)
            self.graph.nodes[name.text] = node
        return node

    def port(self) -> None:
        """Take the port of a node and drop it."""
        for _ in range(2):
            if self.accept(":"):
                self.identifier("a port")

    def open_scope(self, chain: list[list[str]]) -> None:
        """Enter a brace, with the defaults that hold around it."""
        if self.keyword("subgraph"):
            self.advance()
            if self.token.kind in ("id", "quoted"):
                self.identifier("a subgraph name")
        self.expect("{", "to open the subgraph")
        if len(self.scopes) >= MAX_DEPTH:
            self.fail(f"subgraphs nest deeper than {MAX_DEPTH}, the most that is taken")
        outer = self.scopes[-1]
        self.scopes.append(_Scope(outer.node_defaults, outer.edge_defaults, chain=chain))

    def close_scope(self) -> None:
        """Leave a brace; its nodes belong to the scope around it, too."""
        closed = self.scopes.pop()
        if self.scopes:
            self.scopes[-1].members.update(closed.members)
            closed.chain.append(list(closed.members))
            self.chain(closed.chain)

    def chain(self, ends: list[list[str]]) -> None:
        """Go on with an edge chain; a subgraph as an end suspends it until its brace closes."""
        scope = self.scopes[-1]
        while self.token.kind in ("->", "--"):
            if self.token.kind == "--":
                self.fail("'--' is an undirected edge; a digraph has '->'")
            self.advance()
            if self.token.kind == "{" or self.keyword("subgraph"):
                self.open_scope(ends)
                return
            name = self.identifier("a node after '->'")
            self.port()
            self.mention(name, scope)
            ends.append([name.text])
        if len(ends) > 1:
            offset = self.last_offset
            self.connect(ends, self.attributes(scope.edge_defaults), offset)

    def connect(self, ends: list[list[str]], attributes: dict[str, str], offset: int) -> None:
        """Add the edges from all nodes of one end to all of the next."""
        edges = self.graph.edges
        for k in range(1, len(ends)):
            sources, targets = ends[k - 1], ends[k]
            if len(edges) + len(sources) * len(targets) > MAX_EDGES:
                _fail(self.text, offset, self.where, f"has more than {MAX_EDGES} edges, the most that is taken")
            for source in sources:
                for target in targets:
                    self.add_edge(DotEdge(source, target, attributes, offset))

    def add_edge(self, edge: DotEdge) -> None:
        """Add one edge; a strict graph keeps one for each pair of nodes."""
        if self.graph.strict:
            known = self.pairs.setdefault((edge.source, edge.target), edge)
            if known is not edge:
                known.attributes = known.attributes | edge.attributes
                return
        self.graph.edges.append(edge)

    def attributes(self, base: dict[str, str], required: bool = False) -> dict[str, str]:
        """The attribute lists that follow, over ``base``; ``base`` itself where there are none.

        ``base`` is never changed: nodes and edges share the dictionaries of defaults until one has attributes of its
        own.
        """
        if required and self.token.kind != "[":
            self.fail(f"expected '[' and attributes, found {self.found()}")
        result = base
        while self.accept("["):
            while not self.accept("]"):
                name = self.identifier("an attribute or ']'").text
                value = self.identifier(f"a value for {name}").text if self.accept("=") else "true"
                if not self.accept(","):
                    self.accept(";")
                if name in self.kept:
                    result = dict(base) if result is base else result
                    result[name] = value
        return result
