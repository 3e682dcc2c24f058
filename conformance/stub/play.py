"""From a request to the round it gets, and from the round to what goes out, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance import script as steps
from conformance.stub.canned import canned_answer
from conformance.stub.reply import Call, Event, Reply, Said, Wire
from conformance.stub.request import ModelRequest
from conformance.stub.tools import choose

NO_SCRIPT = "There is no script in the prompt."
SCRIPT_IS_OVER = "The script is over."


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing goes out for `seconds`; for ever when ``None``."""

    seconds: float | None


def round_for(request: ModelRequest) -> tuple[steps.Round, int | None]:
    """Return the round to play, and its index when it is one of a script's."""
    if not request.is_main:
        return [steps.text(canned_answer(request))], None
    try:
        position = request.position()
    except steps.NotAScript as error:
        return [steps.text(str(error))], None
    if position is None:
        return [steps.text(NO_SCRIPT)], None
    rounds, index = position
    return rounds[index] if index < len(rounds) else [steps.text(SCRIPT_IS_OVER)], index


def failure_in(round_: steps.Round) -> steps.Error | None:
    """Return how the request fails instead of being answered, if it does."""
    match round_:
        case [steps.Error() as error, *_]:
            return error
        case _:
            return None


def play(wire: Wire, request: ModelRequest, reply: Reply, round_: steps.Round) -> Iterator[Event | Pause]:
    """Yield what a stream carries, and let `reply` grow to what it says in all.

    A request for no stream takes the pauses and then ``wire.whole(reply)``.
    """
    for step in round_:
        # A stream reports these as it opens, so they may stand anywhere in the round.
        if isinstance(step, steps.Usage):
            reply.input_tokens, reply.output_tokens = step.input_tokens, step.output_tokens
        elif isinstance(step, steps.Stop):
            reply.stop = step.reason
    yield from wire.opening(reply)
    for step in round_:
        match step:
            case steps.Text():
                reply.blocks.append(Said("text", step.text, step.pieces))
            case steps.Thinking():
                reply.blocks.append(Said("thinking", step.text, step.pieces))
            case steps.Tool():
                tool, arguments = choose(step, request.tools)
                reply.blocks.append(Call(f"{reply.id}{len(reply.blocks)}", tool, arguments))
            case steps.Delay():
                yield Pause(step.seconds)
                continue
            case steps.Hang():
                yield Pause(None)
                continue
            case steps.Error() | steps.Usage() | steps.Stop():
                continue
        yield from wire.block(reply, len(reply.blocks) - 1)
    yield from wire.closing(reply)
