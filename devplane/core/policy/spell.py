"""The words of a command line: quotes taken off, and what expands marked.

Knows nothing of how commands are put together; what runs inside a word is handed on.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from devplane.core.policy import words
from devplane.core.policy.line import Line

DEPTH_LIMIT = 50
"""Deepest nest of structures that is read."""

_GAP = re.compile(rb"(?:[ \t\n]|\\\n)*")
RUNS = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[({])")
_EVALUATES = re.compile(r"\[[^\]]*(?:\$\(|`)")

DATA = frozenset(
    {
        "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation",
        "simple_expansion", "expansion", "command_substitution", "process_substitution",
        "arithmetic_expansion",
        "brace_expression", "extglob_pattern", "regex", "array", "subscript", "variable_name",
        "special_variable_name", "test_operator", "string_content", "heredoc_content", "operator",
    }
)  # fmt: skip


class Speller(ABC):
    """Reads the words of one line, and collects what makes it doubtful."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._line = Line()
        self._doubts: dict[str, None] = {}
        self._bound: dict[str, str] = {}
        self._uses_home = False

    @abstractmethod
    def statement(self, node: Node, depth: int) -> None:
        """Read what would run."""

    def doubt(self, why: str) -> None:
        self._doubts[why] = None

    def unreadable(self, why: str) -> None:
        self._line.is_readable = False
        self.doubt(why)

    def _inner(self, node: Node, depth: int) -> None:
        """Find the commands in what is itself none."""
        for child in self._children(node):
            if child.is_named:
                if child.type in DATA:
                    self._words(child, depth + 1)
                else:
                    self.statement(child, depth + 1)

    def _words(self, node: Node, depth: int) -> list[str]:
        """The words that one argument becomes: several for a brace list."""
        word, raw = self._word(node, depth)
        word = words.tilde(word, raw)
        if words.HOME in word:
            self._uses_home = True
        if _EVALUATES.search(word):
            self.doubt("holds a value in which arithmetic finds a command")
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
        if kind == "process_substitution":
            # A file that only the command sees: what it holds comes from commands that are judged themselves.
            self.statement(node, depth + 1)
            return words.PIPED, ""
        if kind == "command_substitution" and (message := self._message(node)) is not None:
            self.statement(node, depth + 1)
            return message, ""
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
        if kind in DATA and kind != "command_substitution":
            self._inner(node, depth)
        else:
            self.statement(node, depth + 1)
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
        if b"\\\n" in self._source[at:end] and b"$" in self._source[at:end]:
            # The shell joins the lines first, and may find an expansion that the grammar does not.
            self.unreadable("holds a string that cannot be read")
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
        if RUNS.search(text):
            self.unreadable("holds a string that cannot be read")
        return words.double_quoted(text)

    def _expansion(self, node: Node, depth: int) -> str:
        text = self._text(node).lstrip()
        if text in ("$HOME", "${HOME}"):
            return words.HOME
        if text.startswith("${") and ("@P" in text or "@E" in text or text.startswith("${!")):
            self.doubt("expands a value that can hold a command")
        name = text.strip("${}")
        if name in self._bound:
            return self._bound[name]
        found = len(self._line.commands)
        self._inner(node, depth)
        if len(self._line.commands) == found and (RUNS.search(text[2:]) or re.search(r"[<>]\(", text)):
            self.unreadable("expands something that cannot be read")
        if _EVALUATES.search(text):
            self.doubt("holds a value in which arithmetic finds a command")
        return words.ANY

    def _message(self, node: Node) -> str | None:
        """The text of ``$(cat <<'END' …)``, the way in which agents write a message of several lines."""
        inner = [each for each in node.children if each.is_named]
        if len(inner) != 1 or inner[0].type != "redirected_statement":
            return None
        parts = inner[0].children
        if len(parts) != 2 or self._text(parts[0]) != "cat" or parts[1].type != "heredoc_redirect":
            return None
        named = {each.type: each for each in parts[1].children}
        if set(named) - {"<<", "heredoc_start", "heredoc_body", "heredoc_end"} or "heredoc_body" not in named:
            return None
        if self._text(named["heredoc_start"])[:1] not in ("'", '"', "\\"):
            return None
        return self._text(named["heredoc_body"]).rstrip("\n")

    def _between(self, node: Node, children: Sequence[Node]) -> str:
        """The text of a node without that of some of its children."""
        made: list[str] = []
        at = node.start_byte
        for child in children:
            made.append(self._source[at : child.start_byte].decode("utf-8", "replace"))
            at = child.end_byte
        return "\n".join([*made, self._source[at : node.end_byte].decode("utf-8", "replace")])

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _children(self, node: Node, skipped: list[str] | None = None) -> Iterator[Node]:
        """Yield the children; what lies between them must be blank, or the grammar skipped something.

        It skips a ``-`` before a here-document; that goes to `skipped`.
        """
        at = node.start_byte
        for child in node.children:
            start = child.start_byte
            if start != at and self._source[at:start] != b" " and not _GAP.fullmatch(self._source, at, start):
                if skipped is not None and self._source[at:start].strip(b" \t") == b"-":
                    skipped.append("-")
                else:
                    self.unreadable("holds something between its words that cannot be read")
            if child.is_missing:
                self.unreadable("does not parse")
            at = child.end_byte
            yield child
