"""From a command line to the simple commands that it would run, wherever in it they sit.

The text is parsed by ``tree-sitter-bash``. What that grammar is known to read
otherwise than bash does (an escaped blank before ``#``, a word continued on the next line,
a here-document's end) is checked against the text itself: where the two could differ, the
line is one that nobody can read. Nothing is run and nothing on disk is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from devplane.core.policy import words

LIMIT_BYTES = 64 * 1024
"""Longest line that is read."""
STRUCTURE_LIMIT = 1_500
"""Brackets, pipes, dollars and comparisons in one line: the parser's time grows with their square."""
DEPTH_LIMIT = 50
"""Deepest nest of structures that is read."""
PLACES_LIMIT = 8
"""Folders that one line may be in; beyond that, nobody knows where it is."""

Place = tuple[str, ...]
"""The operands of the ``cd`` commands before, in order; relative to where the line starts."""

_ODD = re.compile(
    r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f\uf8f0-\uf8f3\ufeff\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)
_STRUCTURE = re.compile(rb"[|()\[$]|=[=~]")
_GAP = re.compile(rb"(?:[ \t\n]|\\\n)*")
_GLUE = re.compile(rb"(?:\\\n)*")
_RUNS = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[({])")
_DELIMITER = re.compile(r"\\?([\w.+-]+)|'([^'\\]*)'|\"([^\"\\$`]*)\"")
_EVALUATES = re.compile(r"\[[^\]]*(?:\$\(|`)")


class Doubt(NamedTuple):
    """Why it cannot be told what a line would run."""

    why: str
    """The end of the sentence "this line …"."""
    script: int = 0
    """For a script that nobody has read: which word of its command names it. A rule that spells that word
    lifts the doubt."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection to or from a file; those between descriptors are none."""

    operator: str
    target: str
    """A word, see `words`."""

    @property
    def writes(self) -> bool:
        return self.operator not in ("<", "<&")


@dataclass(slots=True)
class Command:
    """One simple command: what would be run, and where."""

    words: tuple[str, ...] = ()
    """The program and its arguments; () for assignments or redirections alone."""
    assignments: tuple[tuple[str, str], ...] = ()
    redirects: list[Redirect] = field(default_factory=list)
    is_fed: bool = False
    """Whether its standard input is given by the line: a pipe, a file or a here-document."""
    fed_text: str | None = None
    """The whole of that input, where the line spells it."""
    places: tuple[Place, ...] = ((),)
    """Every folder that it may run in."""
    is_lost: bool = False
    """Whether it may also run somewhere that the line does not show."""

    @property
    def program(self) -> str:
        """The program's word, or ""."""
        return self.words[0] if self.words else ""

    @property
    def name(self) -> str:
        """The program's name: without its folder, in small letters."""
        return self.program.rpartition("/")[2].casefold()


@dataclass(slots=True)
class Line:
    """A command line, read."""

    commands: list[Command] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    is_readable: bool = True
    """``False`` when the parser or a bound gave up: then nothing may be allowed."""
    shape: tuple[str, ...] = ()
    """The structure around the commands; with the commands it says when two lines are the same."""


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def read(text: str) -> Line:
    """Return what `text` would run. Any text gives a line; its doubts say what could not be read."""
    source = text.encode("utf-8", "surrogatepass")
    if len(source) > LIMIT_BYTES:
        return Line(doubts=[Doubt(f"is longer than {LIMIT_BYTES // 1024} KiB")], is_readable=False)
    if len(source) > STRUCTURE_LIMIT and len(_STRUCTURE.findall(source)) > STRUCTURE_LIMIT:
        return Line(doubts=[Doubt("has too much structure")], is_readable=False)
    walk = _Walk(source)
    if _ODD.search(text):
        walk.unreadable("holds control characters or odd blanks")
    tree = _parser().parse(source)
    walk.statements(tree.root_node, 0)
    if tree.root_node.has_error:
        walk.unreadable("does not parse")
    return walk.finished()


class _Walk:
    """One walk over one tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._line = Line()
        self._doubts: dict[str, None] = {}
        self._shape: list[str] = []
        self._places: tuple[Place, ...] = ((),)
        self._is_lost = False
        self._fed = 0
        self._assigned: set[str] = set()
        self._uses_home = False
        self._has_arithmetic = False
        self._has_hidden_code = False

    def finished(self) -> Line:
        if self._uses_home and "HOME" in self._assigned:
            self.unreadable("changes HOME and uses it")
        if self._has_arithmetic and self._has_hidden_code:
            self.doubt("calculates with a value that can hold a command")
        self._line.doubts = [Doubt(each) for each in self._doubts]
        self._line.shape = tuple(self._shape)
        return self._line

    def doubt(self, why: str) -> None:
        self._doubts[why] = None

    def unreadable(self, why: str) -> None:
        self._line.is_readable = False
        self.doubt(why)

    # Structure

    def statements(self, node: Node, depth: int) -> None:
        """Read what stands in `node`, one statement after the other."""
        if depth > DEPTH_LIMIT:
            self.unreadable("is nested too deeply")
            return
        for child in self._children(node):
            before, was_lost = self._places, self._is_lost
            self.statement(child, depth + 1)
            # A `cd` may have failed: what follows a `;` can be in either folder.
            self._join(before, was_lost)

    def statement(self, node: Node, depth: int) -> None:
        kind = node.type
        if depth > DEPTH_LIMIT:
            self.unreadable("is nested too deeply")
        elif kind == "command":
            self._command(node, depth)
        elif not node.is_named:
            if kind not in ("\n", ";"):
                self._shape.append(kind)
        elif kind == "list":
            self._list(node, depth)
        elif kind == "redirected_statement":
            self._redirected(node, depth)
        elif kind == "pipeline":
            self._pipeline(node, depth)
        elif kind in ("variable_assignment", "variable_assignments"):
            self._assignment_statement(node, depth)
        elif kind == "declaration_command":
            self._declaration(node, depth)
        elif kind == "comment":
            self._comment(node)
        elif kind in ("subshell", "command_substitution", "process_substitution"):
            self._shape.append(kind)
            before, was_lost = self._places, self._is_lost
            self.statements(node, depth)
            self._places, self._is_lost = before, was_lost
        elif kind in _BLOCKS:
            self._shape.append(kind)
            # A function runs where it is called, and a loop's second round where the first ended.
            if kind == "function_definition" or (kind in _LOOPS and _MOVES.search(self._text(node))):
                self._is_lost = True
            self.statements(node, depth)
        elif kind in _DATA:
            self._word(node, depth)
        elif kind in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
            command = self._new()
            self._redirect(node, command, [], depth)
            self._add(command)
        elif kind == "test_command":
            self._shape.append(kind)
            self._has_arithmetic = True
            self._inner(node, depth)
        elif kind in _ARITHMETIC:
            self._has_arithmetic = True
            self._inner(node, depth)
        elif kind == "unset_command":
            self._builtin(node, "unset", depth)
        elif kind == "ERROR":
            self.unreadable("does not parse")
            self._inner(node, depth)
        else:
            self.unreadable(f"holds something unknown ({kind.replace('_', ' ')})")
            self._inner(node, depth)

    def _inner(self, node: Node, depth: int) -> None:
        """Find the commands in what is itself none."""
        for child in self._children(node):
            if child.is_named:
                self.statement(child, depth + 1)

    def _list(self, node: Node, depth: int) -> None:
        before, was_lost = self._places, self._is_lost
        # A long chain nests to the left; read it from its innermost pair on, without recursion.
        rights: list[tuple[Node, list[Node]]] = []
        while node.type == "list":
            children = list(self._children(node))
            rights.append((node, children[1:]))
            node = children[0]
        self.statement(node, depth + 1)
        for _, rest in reversed(rights):
            for child in rest:
                if child.type == "||":
                    self._join(before, was_lost)
                self.statement(child, depth + 1)
        self._join(before, was_lost)

    def _pipeline(self, node: Node, depth: int) -> None:
        before, was_lost = self._places, self._is_lost
        is_first = True
        for child in self._children(node):
            if not child.is_named:
                self._shape.append(child.type)
                continue
            self._fed += not is_first
            self.statement(child, depth + 1)
            self._fed -= not is_first
            is_first = is_first and child.type == "comment"
        self._places, self._is_lost = before, was_lost

    def _redirected(self, node: Node, depth: int) -> None:
        children = list(self._children(node))
        redirects = [each for each in children if each.type.endswith("_redirect")]
        bodies = [each for each in children if not each.type.endswith("_redirect")]
        if len(bodies) == 1 and bodies[0].type == "command":
            self._command(bodies[0], depth, redirects)
            return
        group = self._new()
        for redirect in redirects:
            self._redirect(redirect, group, [], depth)
        self._shape.append("redirected")
        self._fed += group.is_fed
        for body in bodies:
            self.statement(body, depth + 1)
        self._fed -= group.is_fed
        self._add(group)

    # Commands

    def _new(self) -> Command:
        return Command(places=self._places, is_lost=self._is_lost, is_fed=self._fed > 0)

    def _add(self, command: Command) -> None:
        self._line.commands.append(command)
        for name, _ in command.assignments:
            self._assigned.add(name)

    def _command(self, node: Node, depth: int, redirects: list[Node] = []) -> None:  # noqa: B006
        command = self._new()
        found: list[str] = []
        assignments: list[tuple[str, str]] = []
        last: Node | None = None
        pending: list[Node] = []
        for child in self._children(node):
            kind = child.type
            if last is not None and last.end_byte == child.start_byte:
                self.unreadable("glues words together in a way that cannot be read")
            elif last is not None and _GLUE.fullmatch(self._source, last.end_byte, child.start_byte):
                self.unreadable("continues a word on the next line")
            if kind == "command_name":
                found += self._words(child.children[0] if child.child_count else child, depth)
            elif kind == "variable_assignment":
                assignments.append(self._assignment(child, depth))
            elif kind.endswith("_redirect"):
                pending.append(child)
                continue
            elif kind in _DATA:
                found += self._words(child, depth)
            elif kind == "comment":
                self._comment(child)
            elif not child.is_named and kind in ("==", "=~", "$", "!", "&"):
                found.append(words.unquoted(kind))
                if kind == "$" and last is not None:
                    self.doubt("holds a $ that cannot be read")
            else:
                self.unreadable(f"holds something unknown ({kind.replace('_', ' ')})")
                self.statement(child, depth + 1)
            last = child
        for redirect in (*pending, *redirects):
            self._redirect(redirect, command, found, depth)
        command.words = tuple(found)
        command.assignments = tuple(assignments)
        self._add(command)
        self._shape.append("command")
        self._moves(command)

    def _builtin(self, node: Node, name: str, depth: int) -> None:
        command = self._new()
        found = [name]
        for child in self._children(node):
            if child.is_named:
                found += self._words(child, depth)
        command.words = tuple(found)
        self._shape.append("command")
        self._add(command)

    def _declaration(self, node: Node, depth: int) -> None:
        command = self._new()
        found: list[str] = []
        assignments: list[tuple[str, str]] = []
        for child in self._children(node):
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child, depth))
            elif child.is_named:
                found += self._words(child, depth)
            else:
                found.append(child.type)
        command.words, command.assignments = tuple(found), tuple(assignments)
        self._shape.append("command")
        self._add(command)

    def _assignment_statement(self, node: Node, depth: int) -> None:
        nodes = [node] if node.type == "variable_assignment" else list(self._children(node))
        command = self._new()
        command.assignments = tuple(
            self._assignment(each, depth) for each in nodes if each.type == "variable_assignment"
        )
        self._shape.append("assignment")
        self._add(command)

    def _assignment(self, node: Node, depth: int) -> tuple[str, str]:
        name = value = ""
        for child in self._children(node):
            if child.type == "variable_name" and not name:
                name = self._text(child)
            elif child.type == "subscript":
                name = self._text(child).partition("[")[0]
                self._has_arithmetic = True
                self._word(child, depth)
            elif child.is_named:
                value = "".join(self._words(child, depth)) if child.type != "array" else words.ANY
                if child.type == "array":
                    self._inner(child, depth)
        return name, value

    def _moves(self, command: Command) -> None:
        """Follow a ``cd``: what comes next may be in another folder."""
        if command.name not in ("cd", "pushd", "popd"):
            return
        operands = [each for each in command.words[1:] if each == "-" or not each.startswith("-")]
        if command.name == "popd" or operands == ["-"] or len(operands) > 1:
            self._is_lost = True
            return
        to = operands[0] if operands else words.HOME
        if not words.is_literal(to):
            self._is_lost = True
            return
        self._places = tuple((*place, to) for place in self._places)

    def _join(self, places: tuple[Place, ...], was_lost: bool) -> None:
        self._is_lost = self._is_lost or was_lost
        if places is not self._places:
            self._places = tuple(dict.fromkeys((*places, *self._places)))
            if len(self._places) > PLACES_LIMIT:
                self._places, self._is_lost = self._places[:PLACES_LIMIT], True

    # Redirections

    def _redirect(self, node: Node, command: Command, found: list[str], depth: int) -> None:
        """Take in one redirection; further words that the grammar counts to it go to `found`."""
        if node.type == "file_redirect":
            self._file_redirect(node, command, found, depth)
        elif node.type == "herestring_redirect":
            command.is_fed = True
            for child in self._children(node):
                if child.is_named and child.type != "file_descriptor":
                    text = "".join(self._words(child, depth))
                    command.fed_text = text if words.is_literal(text) else None
        else:
            self._heredoc(node, command, found, depth)

    def _file_redirect(self, node: Node, command: Command, found: list[str], depth: int) -> None:
        operator = ""
        targets: list[str] = []
        for child in self._children(node):
            if not child.is_named:
                operator = child.type
            elif child.type != "file_descriptor":
                made = self._words(child, depth)
                targets.append(made[0] if len(made) == 1 else words.ANY)
        target = targets[0] if targets else ""
        # The grammar puts what follows the target into the redirection; the shell gives it to the command.
        found += targets[1:]
        is_descriptor = operator in (">&", "<&", ">&-", "<&-") and (
            target.rstrip("-").isdigit() or target in ("", "-")
        )
        if is_descriptor:
            return
        if operator.startswith("<"):
            command.is_fed, command.fed_text = True, None
        command.redirects.append(Redirect(operator, target))

    def _heredoc(self, node: Node, command: Command, found: list[str], depth: int) -> None:
        command.is_fed = True
        start, body, end, strips = "", None, "", False
        rest: list[Node] = []
        for child in self._children(node):
            if child.type == "heredoc_start":
                start = self._text(child)
            elif child.type == "heredoc_body":
                body = child
            elif child.type == "heredoc_end":
                end = self._text(child)
            elif child.type in ("<<", "<<-"):
                strips = child.type == "<<-"
            elif child.type.endswith("_redirect"):
                self._redirect(child, command, found, depth)
            elif child.type != "file_descriptor":
                rest.append(child)
        spelt = _DELIMITER.fullmatch(start)
        delimiter = next((each for each in spelt.groups() if each is not None), "") if spelt else None
        text = self._text(body) if body is not None else ""
        lines = [each.lstrip("\t") if strips else each for each in text.split("\n")]
        if delimiter is None or end.strip("\t") != delimiter or delimiter in lines[:-1]:
            self.unreadable("holds a here-document whose end cannot be told")
        is_plain = start[:1] in ("'", '"', "\\")
        command.fed_text = text
        if body is not None and not is_plain:
            inner = [each for each in body.children if each.is_named and each.type != "heredoc_content"]
            if inner or _RUNS.search(text) or "$" in text:
                command.fed_text = None
            if _RUNS.search(text) and not inner:
                self.unreadable("holds a here-document that cannot be read")
            for each in inner:
                self._word(each, depth)
        # `cat <<E | sh` puts the rest of the line into the redirection.
        for each in rest:
            if each.type == "pipeline":
                self._fed += 1
                self.statement(each, depth + 1)
                self._fed -= 1
            else:
                self.statement(each, depth + 1)

    # Words

    def _words(self, node: Node, depth: int) -> list[str]:
        """The words that one argument becomes: several for a brace list."""
        word, raw = self._word(node, depth)
        word = words.tilde(word, raw)
        if words.HOME in word:
            self._uses_home = True
        if node.type in ("raw_string", "ansi_c_string", "word", "concatenation") and _EVALUATES.search(word):
            self._has_hidden_code = True
        return words.braces(word, raw) if "{" in raw else [word]

    def _word(self, node: Node, depth: int) -> tuple[str, str]:
        """Return a node's word, and of it what stood unquoted."""
        kind = node.type
        if depth > DEPTH_LIMIT:
            self.unreadable("is nested too deeply")
            return words.ANY, ""
        if kind in (
            "word",
            "number",
            "variable_name",
            "special_variable_name",
            "heredoc_content",
            "test_operator",
        ):
            text = self._text(node)
            if node.child_count:
                self._inner(node, depth)
                return words.ANY, ""
            return words.unquoted(text), text
        if kind == "string":
            return self._string(node, depth), ""
        if kind == "raw_string":
            return self._text(node)[1:-1], ""
        if kind == "ansi_c_string":
            text = words.ansi_c(self._text(node)[2:-1])
            return (words.ANY if "\0" in text else text), ""
        if kind in ("concatenation", "command_name"):
            parts, raws, last = [], [], None
            for child in node.children:
                if last is not None and last != child.start_byte:
                    self.unreadable("glues words together in a way that cannot be read")
                last = child.end_byte
                part, raw = self._word(child, depth + 1)
                parts.append(part)
                raws.append(raw)
            return self._joined(parts, raws)
        if kind in ("simple_expansion", "expansion"):
            return self._expansion(node, depth), ""
        if not node.is_named:
            return words.unquoted(kind), kind
        self.statement(node, depth + 1) if kind not in _DATA else self._inner(node, depth)
        return words.ANY, ""

    def _joined(self, parts: list[str], raws: list[str]) -> tuple[str, str]:
        word, raw = "".join(parts), "".join(raws)
        if "[" in word and "]" in raw and "[" in raw:
            # `[ab]` comes in pieces: `[`, `ab`, `]`.
            word = re.sub(r"\[[^\[\]/]+\]", words.ONE, word)
        if parts and parts[0] and not raws[0]:
            # What begins quoted is no tilde; what is partly quoted is no plain brace list.
            raw = "\0" + raw
        return word, raw

    def _string(self, node: Node, depth: int) -> str:
        parts: list[str] = []
        at, end = node.start_byte + 1, node.end_byte - 1
        for child in node.children:
            if child.type in ("string_content", '"'):
                continue
            parts.append(self._quoted(at, child.start_byte))
            part, _ = self._word(child, depth + 1)
            parts.append(part if child.is_named else words.double_quoted(self._text(child)))
            at = child.end_byte
        parts.append(self._quoted(at, end))
        return "".join(parts)

    def _quoted(self, start: int, end: int) -> str:
        text = self._source[start:end].decode("utf-8", "replace")
        if _RUNS.search(text):
            self.unreadable("holds a string that cannot be read")
        return words.double_quoted(text)

    def _expansion(self, node: Node, depth: int) -> str:
        text = self._text(node).lstrip()
        if text in ("$HOME", "${HOME}"):
            return words.HOME
        if text.startswith("${") and ("@P" in text or "@E" in text or text.startswith("${!")):
            self.doubt("expands a value that can hold a command")
        self._inner(node, depth)
        if "[" in text:
            self._has_arithmetic = True
        return words.ANY

    def _comment(self, node: Node) -> None:
        before = self._source[max(0, node.start_byte - 2) : node.start_byte]
        if before and (before[-1:] not in b" \t\n;&|(){}" or (before[:1] == b"\\" and before[-1:] != b"\n")):
            self.unreadable("holds a comment that may be none")

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _children(self, node: Node) -> Iterator[Node]:
        """Yield the children; what lies between them must be blank, or the grammar skipped something."""
        at = node.start_byte
        for child in node.children:
            start = child.start_byte
            if start != at and self._source[at:start] != b" " and not _GAP.fullmatch(self._source, at, start):
                self.unreadable("holds something between its words that cannot be read")
            if child.is_missing:
                self.unreadable("does not parse")
            at = child.end_byte
            yield child


_BLOCKS = frozenset(
    {
        "program", "compound_statement", "if_statement", "elif_clause", "else_clause", "while_statement",
        "for_statement", "c_style_for_statement", "do_group", "case_statement", "case_item",
        "function_definition", "negated_command",
    }
)  # fmt: skip
_LOOPS = frozenset({"while_statement", "for_statement", "c_style_for_statement"})
_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_ARITHMETIC = frozenset(
    {
        "binary_expression", "unary_expression", "postfix_expression", "ternary_expression",
        "parenthesized_expression", "arithmetic_expansion", "subscript",
    }
)  # fmt: skip
_DATA = frozenset(
    {
        "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation",
        "simple_expansion", "expansion", "command_substitution", "process_substitution",
        "arithmetic_expansion",
        "brace_expression", "extglob_pattern", "regex", "array", "subscript", "variable_name",
        "special_variable_name", "test_operator", "string_content", "heredoc_content", "operator",
    }
)  # fmt: skip
