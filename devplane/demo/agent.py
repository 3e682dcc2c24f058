"""Put the demo agent together: its name, modes, options, memory and what answers a prompt."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from devplane import __version__
from devplane.demo.disk import DiskShelf, state_folder
from devplane.demo.shell import Shell
from devplane.demo.words import COMMANDS, behave
from devplane.testing.scripted_agent import Later, ScriptedAgent
from devplane.testing.shelf import Session
from devplane.testing.turn import Turn
from devplane.testing.wire import Message

MODES = (
    ("ask", "Ask", "Asks before it runs a command or writes a file"),
    ("plan", "Plan", "Reads only: runs and writes nothing"),
    ("auto", "Auto", "Runs and writes without asking"),
)

OPTIONS: dict[str, Message] = {
    "mode": {
        "name": "Mode",
        "category": "mode",
        "options": [{"value": mode, "name": name, "description": text} for mode, name, text in MODES],
    },
    "model": {
        "name": "Model",
        "category": "model",
        "options": [
            {"value": "demo-small", "name": "Demo small", "description": "Scripted; a made-up price"},
            {"value": "demo-large", "name": "Demo large", "description": "Scripted; ten times that price"},
        ],
    },
}


class DemoAgent(ScriptedAgent):
    """The scripted agent, with its prompt words announced as commands."""

    def new_session(self, params: Message) -> Any:
        result = super().new_session(params)
        return Later(result, lambda: self._announce(self.sessions[result["sessionId"]]))

    def load_session(self, params: Message) -> Any:
        result = super().load_session(params)
        return Later(result, lambda: self._announce(self.session(params)))

    def resume_session(self, params: Message) -> Any:
        result = super().resume_session(params)
        return Later(result, lambda: self._announce(self.session(params)))

    def _announce(self, session: Session) -> None:
        self.notify(session, {"sessionUpdate": "available_commands_update", "availableCommands": COMMANDS})


def main() -> NoReturn:
    """Serve ACP on stdin and stdout until stdin ends."""
    shell = Shell()

    def play(turn: Turn) -> Message | str | None:
        return behave(turn, shell)

    agent = DemoAgent(
        play,
        name="devplane-demo",
        version=__version__,
        modes=MODES,
        options=OPTIONS,
        shelf=DiskShelf(state_folder(os.environ)),
    )
    agent.info["title"] = "Devplane demo"
    agent.at_end.append(shell.stop_all)
    agent.run()
