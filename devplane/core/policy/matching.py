"""The words of a command against the words of a rule: loosely for a deny, one by one for an allow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from devplane.core.policy import words
from devplane.core.policy.line import Command

_SHORT: dict[str, dict[str, dict[str, str]]] = {
    "rm": {"": {"recursive": "r", "force": "f", "dir": "d", "R": "r"}},
    "cp": {"": {"recursive": "r", "force": "f", "R": "r", "archive": "a"}},
    "chmod": {"": {"recursive": "R"}},
    "chown": {"": {"recursive": "R"}},
    "chgrp": {"": {"recursive": "R"}},
    "git": {
        "push": {"force": "f", "delete": "d"},
        "clean": {"force": "f"},
        "checkout": {"force": "f"},
        "switch": {"force": "f", "discard-changes": "f"},
        "commit": {"no-verify": "n", "all": "a", "message": "m"},
        "branch": {"delete": "d", "force": "f"},
        "add": {"all": "A", "force": "f"},
        "rm": {"force": "f"},
    },
    "curl": {"": {"output": "o", "upload-file": "T", "data": "d", "form": "F", "request": "X"}},
    "sed": {"": {"in-place": "i"}},
    "tar": {"": {"extract": "x", "create": "c"}},
    "docker": {"rm": {"force": "f"}},
    "kubectl": {"delete": {"filename": "f"}},
}
"""Program and subcommand ("" for any) to its long flags with the letter that means the same."""


@dataclass(frozen=True, slots=True)
class Item:
    text: str
    can_be_value: bool


class Words:
    """A command's words sorted for matching: flags as a set, operands in order. Made once a command."""

    def __init__(self, command: Command) -> None:
        self.flags: set[str] = set()
        self.letters: set[str] = set()
        self.operands: list[Item] = []
        self.may_hold_flags = False
        given = command.words[1:]
        is_after_flag = is_ended = False
        for word in given:
            if (
                (words.is_hidden(word) and word[0] in (words.ANY, "-"))
                or word[0:1] in (words.STAR, words.ONE)
                or (word.startswith("-") and not words.is_literal(word))
            ):
                self.may_hold_flags = True
                self.operands.append(Item(word, is_after_flag))
                is_after_flag = False
            elif word.startswith("-") and len(word) > 1 and not is_ended:
                if word == "--":
                    is_ended = True
                    continue
                name, sign, value = word.partition("=")
                self.flags.add(word)
                self.flags.add(name)
                if not word.startswith("--"):
                    self.letters.update(name[1:])
                if sign:
                    self.operands.append(Item(value, True))
                is_after_flag = not sign
            else:
                self.operands.append(Item(word, is_after_flag))
                is_after_flag = False
        by_verb = _SHORT.get(command.name)
        if by_verb is not None:
            first = {each.text for each in self.operands[:4]}
            for verb, letters in by_verb.items():
                if not verb or verb in first:
                    self._spell_both_ways(letters)
            if command.name == "git" and "push" in first:
                self._read_refspecs()

    def _spell_both_ways(self, letters: Mapping[str, str]) -> None:
        for flag in list(self.flags):
            if flag.startswith("--") and len(flag) > 2:
                self.letters.update(each for long, each in letters.items() if f"--{long}".startswith(flag))
        for long, letter in letters.items():
            if len(long) == 1 and long in self.letters:
                self.letters.add(letter)
            elif letter in self.letters:
                self.flags.add(f"--{long}")

    def _read_refspecs(self) -> None:
        """``+branch`` forces a push, and ``:branch`` deletes."""
        if any(each.text.startswith("+") for each in self.operands):
            self.flags.add("--force")
            self.letters.add("f")
        if any(each.text.startswith(":") and len(each.text) > 1 for each in self.operands):
            self.flags.add("--delete")
            self.letters.add("d")

    @cached_property
    def operand_names(self) -> tuple[str, ...]:
        """The operands in small letters, each once."""
        return tuple(dict.fromkeys(each.text.casefold() for each in self.operands))

    @property
    def operand_count(self) -> int:
        return len(self.operands)

    @cached_property
    def is_spelt_out(self) -> bool:
        """Whether every operand is plain text."""
        return all(words.is_literal(each.text) for each in self.operands)


def has_flag(wanted: str, parts: Words) -> bool:
    if words.STAR in wanted:
        matcher = words.glob(wanted)
        return any(matcher.fullmatch(each) for each in parts.flags)
    if wanted in parts.flags:
        return True
    name = wanted.partition("=")[0]
    if wanted.startswith("--"):
        return any(
            len(each) > 2 and each.startswith("--") and "=" not in each and name.startswith(each)
            for each in parts.flags
            if "=" not in wanted
        )
    return len(wanted) > 1 and set(name[1:]) <= parts.letters


def aligned(wanted: Sequence[str], given: Sequence[Item], is_open: bool, *, may: bool) -> bool:
    """Whether the operands fit the rule's, in order; `may`: expansions become whatever is needed."""
    end = len(wanted)

    def grown(states: set[int]) -> set[int]:
        for at in sorted(states):
            while at < end and wanted[at] == words.STAR:
                at += 1
                states.add(at)
        return states

    states = grown({0})
    # A rule that ends in a wildcard, or holds one in its last word, says nothing of what follows.
    is_done_early = is_open and (not wanted or words.STAR in wanted[-1])
    for item in given:
        if end in states and is_done_early:
            return True
        after: set[int] = set()
        is_hidden = words.is_hidden(item.text)
        for at in states:
            if at < end and wanted[at] == words.STAR:
                after.add(at)
            elif at < end and _operand_fits(wanted[at], item.text, may):
                after.add(at + 1)
            if item.can_be_value:
                after.add(at)
            if may and is_hidden:
                after.update(range(at, end + 1))
        states = grown(after)
        if not states:
            return False
    return end in states or (end - 1 in states and bool(wanted) and wanted[-1] == words.STAR)


def _operand_fits(wanted: str, given: str, may: bool) -> bool:
    if words.STAR in wanted:
        return words.glob(wanted).fullmatch(given) is not None
    if wanted == given or wanted.casefold() == given.casefold():
        return True
    return may and not words.is_literal(given) and _can_be(given, wanted)


def _can_be(given: str, wanted: str) -> bool:
    """Whether a word with marks can become `wanted`."""
    parts = re.split(f"([{words.ANY}{words.STAR}{words.ONE}])", given)
    made = "".join(
        "." if each == words.ONE else ".*" if each in (words.ANY, words.STAR) else re.escape(each)
        for each in parts
    )
    return re.fullmatch(made, wanted, re.DOTALL) is not None


def covered(wanted: Sequence[str], given: Sequence[str]) -> bool:
    """Whether an allow's words cover a command's, one by one; a lone ``*`` is any run of words."""
    lone = sum(words.STAR in each for each in wanted) == 1
    end = len(wanted)
    states = {0}
    for word in given:
        after: set[int] = set()
        for at in states:
            if at < end and wanted[at] == words.STAR:
                after |= {at, at + 1}
            elif at < end and _word_covers(wanted[at], word):
                after.add(at + 1)
            if at == end and wanted[-1].endswith(words.STAR):
                after.add(at)
        states = after
        if not states:
            return False
    if end in states:
        return True
    # Only as the rule's one wildcard does a trailing `*` cover the bare command too (PG-081, PG-088).
    return lone and end - 1 in states and wanted[-1] == words.STAR


def _word_covers(wanted: str, given: str) -> bool:
    if words.STAR not in wanted:
        return wanted == given
    pattern = "".join(".*" if char == words.STAR else re.escape(char) for char in wanted)
    return re.fullmatch(pattern, given, re.DOTALL) is not None
