"""What a command line comes down to: simple commands, and the doubts about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

Place = tuple[str, ...]
"""The operands of the ``cd`` commands before, in order; relative to where the line starts."""


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
    feeding: Command | None = None
    """The one simple command whose output is that input."""
    is_call: bool = False
    """Whether it calls a function that the line defines before."""
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
