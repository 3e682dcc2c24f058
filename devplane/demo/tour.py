"""The newcomer's first sight: everything Devplane can show, in two or three seconds and two questions."""

from __future__ import annotations

from devplane.demo.shell import Shell, harmless_command
from devplane.demo.steps import FILE_NAME, Pace, run_command, write_file
from devplane.testing.turn import Turn

STEPS = ("Look at the folder", f"Write {FILE_NAME}", "Sum up")


def tour(turn: Turn, shell: Shell) -> None:
    """Think, plan, ask to run a command, ask to write a file, sum up; a no is heard and the tour goes on."""
    pace = Pace(turn)
    pace.think("This is the demo agent, so there is no model behind me. Let me show what an agent can do.")
    pace.say("Hello! I am the demo agent that ships with Devplane. I will look at this folder, ")
    pace.say(f"write a small file and sum up. I ask first.{_what_the_mode_means(turn)}\n")
    _plan(turn, 0)

    command = harmless_command(turn.session.cwd)
    pace.pause(0.3)
    has_looked = run_command(turn, shell, command)
    pace.say(f"That was `{command}`, for real.\n" if has_looked else f"Then without `{command}`.\n")
    _plan(turn, 1)

    pace.pause(0.3)
    has_written = write_file(turn)
    pace.say(f"{FILE_NAME} is written.\n" if has_written else f"{FILE_NAME} stays as it was.\n")
    _plan(turn, 2)

    pace.pause(0.2)
    done = [did for did, is_done in (("ran a command", has_looked), ("wrote a file", has_written)) if is_done]
    pace.say(f"Done: I {' and '.join(done)}." if done else "Done: I changed nothing.")
    pace.say(" Say `remember` to see that I know this conversation again, also after a restart.")
    _plan(turn, 3)


def _what_the_mode_means(turn: Turn) -> str:
    match turn.session.mode:
        case "plan":
            return " Well, not in plan mode: here I run and write nothing."
        case "auto":
            return " Well, not in auto mode: here I just do it."
        case _:
            return ""


def _plan(turn: Turn, done: int) -> None:
    """Show the plan with `done` steps behind and the next one in progress."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(STEPS)
    turn.plan(zip(STEPS, states, strict=False))
