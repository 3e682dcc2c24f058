"""What one run says, joined into fragments: kept in memory while it grows, written when it moves on.

The hot path: `chunk` is called for every streamed piece and does nothing but append.
"""

from __future__ import annotations

from devplane.store.rows import FragmentRow

FRAGMENT_LIMIT_CHARS = 16 * 1024
"""Length at which a fragment goes on in a row of its own, so that rewriting an open one stays cheap."""


class Transcript:
    """The open fragment of one run, and what of it the store and the watchers have not seen yet."""

    def __init__(self, run: str, first_pos: int) -> None:
        self._run = run
        self.next_pos = first_pos
        self._role = ""
        self._message: str | None = None
        self._turn: str | None = None
        self._pos = -1
        self._at_ms = 0
        self._parts: list[str] = []
        self._chars = 0
        self._is_dirty = False
        self._continues = False
        self._finished: list[FragmentRow] = []
        self._heard: list[tuple[int, str, bool, list[str]]] = []
        self._hearing: list[str] | None = None

    def take_pos(self) -> int:
        """Return the next place in the run's order, for a fact."""
        pos = self.next_pos
        self.next_pos += 1
        return pos

    def chunk(self, role: str, message: str | None, text: str, turn: str | None, now_ms: int) -> None:
        """Add one streamed piece. A new role, message or turn begins a new fragment."""
        if not text:
            return
        if (
            role != self._role
            or turn != self._turn
            or (message != self._message and message is not None and self._message is not None)
        ):
            self.close()
        elif self._chars >= FRAGMENT_LIMIT_CHARS:
            self._split()
        if self._pos < 0:
            self._open(role, message, turn, now_ms, continues=False)
        self._message = message or self._message
        self._parts.append(text)
        self._chars += len(text)
        self._is_dirty = True
        if self._hearing is None:
            self._hearing = []
            self._heard.append((self._pos, role, self._continues, self._hearing))
        self._hearing.append(text)

    def whole(self, role: str, text: str, turn: str | None, now_ms: int) -> int:
        """Add a fragment that is complete at once (a prompt); return its place."""
        self.close()
        pos = self.take_pos()
        self._finished.append(FragmentRow(self._run, pos, now_ms, role, text, turn=turn))
        self._heard.append((pos, role, False, [text]))
        return pos

    def close(self, *, goes_on: bool = False) -> None:
        """End the open fragment; blank ones leave no trace, save as a part of a longer text."""
        if self._pos >= 0:
            row = self._row(is_open=False)
            if goes_on or row.continues or row.text.strip():
                self._finished.append(row)
        self._role, self._message, self._pos, self._parts, self._chars = "", None, -1, [], 0
        self._is_dirty = self._continues = False
        self._hearing = None

    def take_rows(self) -> tuple[FragmentRow, ...]:
        """Return what the store has not seen: finished fragments, and the open one as it is now."""
        rows = self._finished
        self._finished = []
        if self._is_dirty:
            self._is_dirty = False
            row = self._row(is_open=True)
            if row.continues or row.text.strip():
                rows.append(row)
        return tuple(rows)

    def take_heard(self) -> list[tuple[int, str, bool, str]]:
        """Return what watchers have not heard: (place, role, continues, text), pieces joined."""
        heard = [(pos, role, continues, "".join(parts)) for pos, role, continues, parts in self._heard]
        self._heard = []
        self._hearing = None
        return heard

    @property
    def has_news(self) -> bool:
        return self._is_dirty or bool(self._finished)

    @property
    def place(self) -> tuple[int, int]:
        """The open fragment's place and length so far, or the last place used and 0."""
        return (self._pos, self._chars) if self._pos >= 0 else (self.next_pos - 1, 0)

    def _open(
        self, role: str, message: str | None, turn: str | None, now_ms: int, *, continues: bool
    ) -> None:
        self._role, self._message, self._turn = role, message, turn
        self._pos, self._at_ms, self._continues = self.take_pos(), now_ms, continues
        self._parts, self._chars = [], 0

    def _split(self) -> None:
        role, message, turn, at_ms = self._role, self._message, self._turn, self._at_ms
        self.close(goes_on=True)
        self._open(role, message, turn, at_ms, continues=True)

    def _row(self, *, is_open: bool) -> FragmentRow:
        text = "".join(self._parts)
        self._parts = [text]
        return FragmentRow(
            self._run,
            self._pos,
            self._at_ms,
            self._role,
            text,
            turn=self._turn,
            message_id=self._message,
            open=is_open,
            continues=self._continues,
        )
