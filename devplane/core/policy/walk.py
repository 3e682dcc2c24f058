"""From a command line to the simple commands that it would run, wherever in it they sit.

The text is parsed by ``tree-sitter-bash``. What that grammar is known to read
otherwise than bash does (an escaped blank before ``#``, a word continued on the next line,
a here-document's end) is checked against the text itself: where the two could differ, the
line is one that nobody can read. Nothing is run and nothing on disk is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from devplane.core.policy import words
from devplane.core.policy.line import Command, Doubt, Line, Place, Redirect
from devplane.core.policy.spell import DATA, DEPTH_LIMIT, RUNS, Speller

LIMIT_BYTES = 64 * 1024
"""Longest line that is read."""
STRUCTURE_LIMIT = 1_500
"""Brackets, pipes, dollars and comparisons in one line: the parser's time grows with their square."""
ROUNDS_LIMIT = 16
"""Rounds of loops that are read one by one."""
PLACES_LIMIT = 8
"""Folders that one line may be in; beyond that, nobody knows where it is."""

_ODD = re.compile(
    r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f\uf8f0-\uf8f3\ufeff\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)
_CONTINUED = re.compile(r"(?<![ \t])\\\n|(?<=\n)[ \t]*\\\n")
_STRUCTURE = re.compile(rb"[|()\[$]|=[=~]")
_GLUE = re.compile(rb"(?:\\\n)*")
_SPLITS = re.compile(r"[\s*?\[\\]")
"""What an unquoted expansion would take apart or match against files."""
_NAMED_DESCRIPTOR = re.compile(rb"\{\w+\}\Z")
_ENDS_WORD = frozenset(b"%c" % each for each in b" \t\n;&|<>)") | {b""}
_DELIMITER = re.compile(r"\\?([\w.+-]+)|'([^'\\]*)'|\"([^\"\\$`]*)\"")


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
    if _CONTINUED.search(text):
        # The shell joins the lines before it looks at anything else; the grammar does not.
        walk.unreadable("continues a word on the next line")
    if _ODD.search(text):
        walk.unreadable("holds control characters or odd blanks")
    tree = _parser().parse(source)
    walk.statements(tree.root_node, 0)
    if tree.root_node.has_error:
        walk.unreadable("does not parse")
    return walk.finished()


@lru_cache(maxsize=64)
def _sets(name: str) -> re.Pattern[bytes]:
    """Finds whatever may give a loop's variable another value."""
    return re.compile(
        rb"\b" + re.escape(name.encode("utf-8", "replace")) + rb"\+?="
        rb"|\b(?:read|printf|mapfile|readarray|getopts|let|unset|declare|typeset|local|export|eval|source|select)\b|\(\("
    )


class _Walk(Speller):
    """One walk over one tree."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self._shape: list[str] = []
        self._places: tuple[Place, ...] = ((),)
        self._is_lost = False
        self._fed = 0
        self._later: list[Node] = []
        self._rounds = ROUNDS_LIMIT
        self._functions: set[str] = set()
        self._bodies: list[range] = []
        self._has_moved = False
        self._assigned: set[str] = set()

    def finished(self) -> Line:
        if self._uses_home and "HOME" in self._assigned:
            self.unreadable("changes HOME and uses it")
        if self._has_moved:
            # A function runs where it is called.
            for body in self._bodies:
                for at in body:
                    self._line.commands[at].is_lost = True
        self._line.doubts = [Doubt(each) for each in self._doubts]
        self._line.shape = tuple(self._shape)
        return self._line

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
            text = self._source[node.start_byte : node.end_byte]
            if text.startswith(b"`") and (text.count(b"`") != 2 or b"\\" in text):
                # The grammar takes two of them for one, and backslashes mean something else in there.
                self.unreadable("holds backquotes that cannot be read")
            before, was_lost = self._places, self._is_lost
            self.statements(node, depth)
            self._places, self._is_lost = before, was_lost
        elif kind in _BLOCKS:
            self._shape.append(kind)
            self._block(node, depth)
        elif kind in DATA:
            self._word(node, depth)
        elif kind in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
            self._group(None, [node], depth)
        elif kind == "test_command":
            self._shape.append(kind)
            self._inner(node, depth)
        elif kind in _ARITHMETIC:
            self._inner(node, depth)
        elif kind == "unset_command":
            self._builtin(node, "unset", depth)
        elif kind == "ERROR":
            self.unreadable("does not parse")
            self._inner(node, depth)
        else:
            self.unreadable(f"holds something unknown ({kind.replace('_', ' ')})")
            self._inner(node, depth)

    def _block(self, node: Node, depth: int) -> None:
        start = len(self._line.commands)
        before, was_lost = self._places, self._is_lost
        if node.type == "for_statement":
            self._for(node, depth)
        else:
            self.statements(node, depth)
        if node.type in _LOOPS and (self._places != before or self._is_lost != was_lost):
            # A loop's second round begins where the first ended.
            for command in self._line.commands[start:]:
                command.is_lost = True
        if node.type == "function_definition":
            self._bodies.append(range(start, len(self._line.commands)))
            after = node.next_sibling
            is_here = node.parent is not None and node.parent.type == "program"
            if is_here and (after is None or after.type != "&"):
                self._functions.add(self._text(node.child_by_field_name("name") or node))

    def _for(self, node: Node, depth: int) -> None:
        """Read a loop once for each value that it spells, so that its variable is no riddle."""
        values: list[str] = []
        name = ""
        body: Node | None = None
        for child in self._children(node):
            if child.type == "variable_name":
                name = self._text(child)
            elif child.type in DATA:
                values += self._words(child, depth)
            elif child.type == "do_group":
                body = child
        if body is None:
            return
        chosen = self._new()
        chosen.assignments = ((name, words.ANY),)
        self._add(chosen)
        is_plain = (
            0 < len(values) <= self._rounds
            and name not in self._bound
            and not any(words.is_hidden(each) or _SPLITS.search(each) for each in values)
            and not _sets(name).search(self._source)
        )
        if not is_plain:
            self.statements(body, depth)
            return
        self._rounds //= len(values)
        for value in values:
            self._bound[name] = value
            before, was_lost = self._places, self._is_lost
            self.statements(body, depth)
            self._join(before, was_lost)
        del self._bound[name]
        self._rounds *= len(values)

    def _list(self, node: Node, depth: int, redirects: Sequence[Node] = ()) -> None:
        before, was_lost = self._places, self._is_lost
        # A long chain nests to the left; read it from its innermost pair on, without recursion.
        rights: list[tuple[Node, list[Node]]] = []
        while node.type == "list":
            children = list(self._children(node))
            rights.append((node, children[1:]))
            node = children[0]
        self.statement(node, depth + 1)
        for number, (_, rest) in enumerate(reversed(rights), 1):
            for child in rest:
                if child.type == "||":
                    self._join(before, was_lost)
                if number == len(rights) and child is rest[-1] and redirects:
                    self._redirected_body(child, redirects, depth + 1)
                else:
                    self.statement(child, depth + 1)
        self._join(before, was_lost)

    def _pipeline(self, node: Node, depth: int, redirects: Sequence[Node] = ()) -> None:
        before, was_lost = self._places, self._is_lost
        children = list(self._children(node))
        feeding: Command | None = None
        for at, child in enumerate(children):
            if not child.is_named:
                self._shape.append(child.type)
                continue
            start = len(self._line.commands)
            self._fed += at > 0
            if redirects and child is children[-1]:
                self._redirected_body(child, redirects, depth + 1)
            else:
                self.statement(child, depth + 1)
            self._fed -= at > 0
            made = self._line.commands[start:]
            if len(made) == 1:
                made[0].feeding = feeding
            feeding = made[0] if len(made) == 1 else None
        self._places, self._is_lost = before, was_lost

    def _redirected(self, node: Node, depth: int) -> None:
        redirects: list[Node] = []
        body: Node | None = None
        extra: list[str] = []
        for child in self._children(node, extra):
            if child.type.endswith("_redirect"):
                redirects.append(child)
            elif body is None:
                body = child
            else:
                self.unreadable("redirects in a way that cannot be read")
                self.statement(child, depth + 1)
        self._redirected_body(body, redirects, depth, extra)

    def _redirected_body(
        self, body: Node | None, redirects: Sequence[Node], depth: int, extra: Sequence[str] = ()
    ) -> None:
        """Read what redirections belong to: in a list or a pipeline that is its last command."""
        kind = body.type if body is not None else ""
        if extra and kind != "command":
            self.unreadable("holds something between its words that cannot be read")
        if body is not None and kind == "command":
            self._command(body, depth, redirects, extra)
        elif body is not None and kind == "list":
            self._list(body, depth, redirects)
        elif body is not None and kind == "pipeline":
            self._pipeline(body, depth, redirects)
        elif body is not None and kind == "negated_command":
            self._shape.append(kind)
            for child in self._children(body):
                if child.is_named:
                    self._redirected_body(child, redirects, depth + 1)
        else:
            self._group(body, redirects, depth)

    def _group(self, body: Node | None, redirects: Sequence[Node], depth: int) -> None:
        """Several commands share redirections; they are judged as a command without a program."""
        group = self._new()
        extra: list[str] = []
        for redirect in redirects:
            self._redirect(redirect, group, extra, depth)
        if extra:
            self.unreadable("redirects in a way that cannot be read")
        later, self._later = self._later, []
        self._shape.append("redirected")
        self._fed += group.is_fed
        if body is not None:
            self.statement(body, depth + 1)
        self._fed -= group.is_fed
        self._add(group)
        self._read_later(later, depth)

    def _read_later(self, nodes: list[Node], depth: int) -> None:
        """Read what the grammar puts into a here-document's redirection: the rest of its line."""
        for each in nodes:
            self._fed += each.type == "pipeline"
            self.statement(each, depth + 1)
            self._fed -= each.type == "pipeline"

    # Commands

    def _new(self) -> Command:
        return Command(places=self._places, is_lost=self._is_lost, is_fed=self._fed > 0)

    def _add(self, command: Command) -> None:
        self._line.commands.append(command)
        for name, _ in command.assignments:
            self._assigned.add(name)

    def _command(
        self, node: Node, depth: int, redirects: Sequence[Node] = (), extra: Sequence[str] = ()
    ) -> None:
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
            elif kind in DATA:
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
        found += extra
        for redirect in (*pending, *redirects):
            # `{name}>file` gives the descriptor a name: no word at all.
            if _NAMED_DESCRIPTOR.search(self._source, max(0, redirect.start_byte - 64), redirect.start_byte):
                self.unreadable("redirects in a way that cannot be read")
        for redirect in (*pending, *redirects):
            self._redirect(redirect, command, found, depth)
        later, self._later = self._later, []
        command.words = tuple(found)
        command.assignments = tuple(assignments)
        command.is_call = command.program in self._functions
        self._add(command)
        self._shape.append("command")
        self._moves(command)
        self._read_later(later, depth)

    def _builtin(self, node: Node, name: str, depth: int) -> None:
        command = self._new()
        found = [name]
        self._functions.clear()
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
                self._words(child, depth)
            elif child.is_named:
                value = "".join(self._words(child, depth)) if child.type != "array" else words.ANY
                if child.type == "array":
                    self._inner(child, depth)
        return name, value

    def _moves(self, command: Command) -> None:
        """Follow a ``cd``: what comes next may be in another folder."""
        if command.name not in ("cd", "pushd", "popd"):
            return
        self._has_moved = True
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
        if operator in ("<&-", ">&-"):
            # It closes a descriptor; what follows is the command's.
            found += targets
            return
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
                if self._source[child.end_byte : child.end_byte + 1] not in _ENDS_WORD:
                    self.unreadable("holds a here-document whose end cannot be told")
            elif child.type == "heredoc_body":
                body = child
            elif child.type == "heredoc_end":
                end = self._text(child)
                if self._source[child.end_byte : child.end_byte + 1] not in (b"\n", b""):
                    self.unreadable("holds a here-document whose end cannot be told")
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
            if inner or re.search(r"[$`\\]", text):
                command.fed_text = None
            if RUNS.search(self._between(body, inner)):
                self.unreadable("holds a here-document that cannot be read")
            for each in inner:
                self._word(each, depth)
        self._later += rest

    def _comment(self, node: Node) -> None:
        before = self._source[max(0, node.start_byte - 2) : node.start_byte]
        if before and (before[-1:] not in b" \t\n;&|(){}" or (before[:1] == b"\\" and before[-1:] != b"\n")):
            self.unreadable("holds a comment that may be none")


_BLOCKS = frozenset(
    {
        "program", "compound_statement", "if_statement", "elif_clause", "else_clause", "while_statement",
        "for_statement", "c_style_for_statement", "do_group", "case_statement", "case_item",
        "function_definition", "negated_command",
    }
)  # fmt: skip
_LOOPS = frozenset({"while_statement", "for_statement", "c_style_for_statement"})
_ARITHMETIC = frozenset(
    {
        "binary_expression", "unary_expression", "postfix_expression", "ternary_expression",
        "parenthesized_expression", "arithmetic_expansion", "subscript",
    }
)  # fmt: skip
