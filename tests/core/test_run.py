"""The life of a run: stories, the table of phases and facts, and any order of facts."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devplane.core import events as e
from devplane.core.effects import CancelAsk, EndAgent, Reply, SendCancel, StartTurn, Wish
from devplane.core.permission import Authority, Option
from devplane.core.run import (
    NEXT,
    TOOLS_KEPT,
    UNFINISHED,
    ImpossibleFact,
    Phase,
    Run,
    ToolCall,
    fold,
    reduce,
)
from devplane.core.wishes import conclude, not_resumed, wishes

CREATED = e.RunCreated("demo", "Demo", ("demo",), "/p", "/p", "hello", None, True, "person")
OPENED = e.SessionOpened("s-1", "new")
ONE = e.PromptQueued("t-1", 5, "person")
TWO = e.PromptQueued("t-2", 5, "person")
STARTED = e.TurnStarted("t-1")
CANCEL = e.CancelAsked("person")
ENDED = e.TurnEnded("t-1", "end_turn")
FAILED = e.TurnFailed("t-1", "boom")
ASKED = e.PermissionAsked("a-1", "c-1", "ls", "Bash", "ls", (Option("y", "Yes", "allow_once"),))
QUESTION = e.QuestionAsked("a-2", "Which?")
ANSWERED = e.AskAnswered("a-1", "allow", "y", Authority.PERSON, "person")
WITHDRAWN = e.AskWithdrawn("a-2", "the agent took the request back")
STOP = e.StopAsked("person")
GONE = e.RunEnded("stopped", "stopped by person")
INTERRUPTED = e.RunEnded("interrupted", "the daemon stopped")
RESUMED = e.RunResumed("Demo 2", ("demo", "2"), "2", "person")
BACK = e.SessionOpened("s-1", "resume")
LOST = e.SessionLost("it does not know it")
OVER = e.BudgetReached("usd", "$5.10", "$5.00")
TOOL = e.ToolChanged("c-1", "ls", "execute", "in_progress", "ls")

EXAMPLES: dict[type, e.Fact] = {
    type(fact): fact
    for fact in (
        CREATED,
        e.ProcessStarted(7, 1.5),
        e.AgentIntroduced("Demo", "1", True, True, True, False, ()),
        OPENED,
        e.ModeSeen("default", "Default", True),
        e.OptionSeen("model", "model", "m"),
        ONE,
        STARTED,
        CANCEL,
        ENDED,
        FAILED,
        TOOL,
        e.PlanChanged((e.PlanEntry("look", "pending"),)),
        e.UsageSeen(10, 100, 0.5, "USD"),
        e.TitleGiven("A title"),
        e.CommandsSeen(("review",)),
        e.UpdateKept("odd", "{}"),
        ASKED,
        QUESTION,
        ANSWERED,
        e.AskWithdrawn("a-1", "gone"),
        e.Noted("warning", "look out"),
        STOP,
        GONE,
        RESUMED,
        LOST,
        e.HandedOver("claude", 7, 1.5),
        e.Stalled(600),
        e.Stirred(),
        e.Slept(1_000),
        OVER,
    )
}


def at(pos: int, fact: e.Fact) -> e.Event:
    return e.Event("r-1", pos, 1000 + pos, fact)


def after(*facts: e.Fact) -> Run:
    """The run after its creation and `facts`."""
    run = fold([at(pos, fact) for pos, fact in enumerate((CREATED, *facts))])
    assert run is not None
    return run


def told(*facts: e.Fact) -> list[Wish]:
    """What the last of `facts` makes the daemon want."""
    *earlier, last = facts
    before = after(*earlier)
    return list(wishes(before, last, reduce(before, at(99, last))))


# ---- stories


def test_a_run_is_told_by_its_state() -> None:
    story = {
        "starting": (),
        "idle": (OPENED,),
        "working": (OPENED, ONE, STARTED),
        "waiting": (OPENED, ONE, STARTED, ASKED),
        "stopping": (OPENED, ONE, STARTED, STOP),
        "stopped": (OPENED, STOP, GONE),
    }
    assert {state: after(*facts).state for state, facts in story.items()} == {state: state for state in story}


def test_a_prompt_before_the_session_goes_out_when_it_opens() -> None:
    assert told(ONE) == []
    assert told(ONE, OPENED) == [StartTurn("t-1")]
    assert told(OPENED, ONE) == [StartTurn("t-1")]


def test_g21_one_prompt_at_a_time_and_in_order() -> None:
    assert told(OPENED, ONE, STARTED, TWO) == []
    assert told(OPENED, ONE, STARTED, TWO, ENDED) == [StartTurn("t-2")]
    assert told(OPENED, ONE, STARTED, TWO, FAILED) == [StartTurn("t-2")]
    with pytest.raises(ImpossibleFact, match="not next"):
        after(OPENED, ONE, TWO, e.TurnStarted("t-2"))
    with pytest.raises(ImpossibleFact, match="not next"):
        after(OPENED, ONE, STARTED, TWO, e.TurnStarted("t-2"))


def test_a_turn_that_ended_leaves_its_reason_and_a_count() -> None:
    run = after(OPENED, ONE, STARTED, e.TurnEnded("t-1", "max_tokens"))
    assert (run.turn, run.turns, run.last_stop_reason, run.errors) == (None, 1, "max_tokens", 0)
    run = after(OPENED, ONE, STARTED, FAILED)
    assert (run.turns, run.last_stop_reason, run.last_error, run.errors) == (1, "error", "boom", 1)


def test_the_agent_hears_of_a_cancel_once_however_often_it_is_asked() -> None:
    running = (OPENED, ONE, STARTED)
    assert told(*running, CANCEL) == [SendCancel("t-1")]
    assert told(*running, CANCEL, CANCEL) == []
    assert told(*running, CANCEL, STOP) == [EndAgent()]


def test_g20_open_asks_are_answered_before_the_cancel_goes_out() -> None:
    running = (OPENED, ONE, STARTED, ASKED, QUESTION)
    asks = [CancelAsk("a-1", Authority.STOPPED), CancelAsk("a-2", Authority.STOPPED)]
    assert told(*running, CANCEL) == [*asks, SendCancel("t-1")]
    assert told(*running, STOP) == [*asks, SendCancel("t-1"), EndAgent()]


def test_g19_a_late_answer_to_a_cancelled_turn_changes_nothing() -> None:
    gave_up = e.TurnFailed("t-1", "not acknowledged", cancelled=True)
    run = after(OPENED, ONE, STARTED, CANCEL, gave_up, TWO, e.TurnStarted("t-2"))
    assert (run.last_stop_reason, run.errors) == ("cancelled", 0)
    with pytest.raises(ImpossibleFact, match="t-1 is not running"):
        reduce(run, at(99, e.TurnEnded("t-1", "cancelled")))


def test_an_ask_that_outlives_its_turn_is_nobodys() -> None:
    assert told(OPENED, ONE, STARTED, ASKED, ENDED) == [CancelAsk("a-1", Authority.NOBODY)]


def test_an_answer_is_written_once_it_is_a_fact_and_only_while_the_ask_is_open() -> None:
    assert told(OPENED, ONE, STARTED, ASKED, ANSWERED) == [Reply("a-1")]
    assert told(OPENED, ONE, STARTED, ASKED, QUESTION, WITHDRAWN) == []
    for closed in (ANSWERED, e.AskWithdrawn("a-1", "gone")):
        with pytest.raises(ImpossibleFact, match="a-1 is not open"):
            after(OPENED, ONE, STARTED, ASKED, ANSWERED, closed)


def test_a_stop_ends_the_agent_once() -> None:
    assert told(STOP) == [EndAgent()]
    assert told(OPENED, STOP) == [EndAgent()]
    assert told(OPENED, STOP, STOP) == []
    assert told(OPENED, ONE, STARTED, TWO, STOP, ENDED) == [], "what is queued is not sent any more"


def test_an_ended_run_holds_nothing_open() -> None:
    busy = (e.ProcessStarted(7, 1.5), OPENED, ONE, STARTED, TOOL, ASKED)
    run = after(*busy, e.RunEnded("failed", "it broke", "mend it"))
    assert (run.state, run.reason, run.hint) == ("failed", "it broke", "mend it")
    assert (run.turn, run.asks, run.pid, run.pid_started_s, run.is_live) == (None, (), None, None, False)
    assert [each.status for each in run.tools] == [UNFINISHED]


def test_an_interrupted_run_keeps_its_asks_and_its_queue() -> None:
    run = after(OPENED, ONE, STARTED, TWO, ASKED, INTERRUPTED)
    assert [each.id for each in run.asks] == ["a-1"]
    assert [each.turn for each in run.queue] == ["t-2"]
    assert reduce(run, at(99, ANSWERED)).asks == ()


def test_a_tool_call_is_upserted_and_closed_with_its_turn() -> None:
    done = e.ToolChanged("c-1", status="completed")
    run = after(OPENED, ONE, STARTED, TOOL, done)
    assert run.tools == (ToolCall("c-1", "ls", "execute", "completed", "ls"),)
    assert run.tool_calls == 1
    run = after(OPENED, ONE, STARTED, TOOL, ENDED)
    assert run.tools[0].status == UNFINISHED
    assert reduce(run, at(99, done)).tools[0].status == "completed", "G-17: its end may come late"


def test_a_failed_call_counts_as_one_error() -> None:
    failed = e.ToolChanged("c-1", status="failed")
    assert after(OPENED, ONE, STARTED, TOOL, failed, failed).errors == 1


def test_a_run_remembers_the_last_calls_and_every_open_one() -> None:
    calls = [e.ToolChanged(f"c-{n}", status="completed") for n in range(3 * TOOLS_KEPT)]
    run = after(OPENED, ONE, STARTED, e.ToolChanged("open", status="in_progress"), *calls)
    assert len(run.tools) == TOOLS_KEPT
    assert run.tools[0].call == "open"
    assert run.tools[-1].call == calls[-1].call
    assert run.tool_calls == 3 * TOOLS_KEPT + 1


def test_context_is_a_level_and_what_is_not_reported_stays_as_it_was() -> None:
    run = after(e.UsageSeen(10, 100, 0.1, "USD"), e.UsageSeen(30, None, None, "USD"))
    assert (run.context_used, run.context_size, run.spending[0].spent) == (30, 100, 0.1)
    assert (after().context_used, after().spending) == (None, ())


def test_settings_and_notes_are_the_latest() -> None:
    model = e.OptionSeen("model", "model", "big")
    mode = e.ModeSeen("yolo", "Yolo", False)
    noted = [e.Noted("warning", str(n)) for n in range(7)]
    run = after(EXAMPLES[e.OptionSeen], model, mode, *noted, e.Noted("info", "quiet"))
    assert run.options == (("model", "model", "big"),)
    assert (run.mode, run.mode_name, run.asks_first) == ("yolo", "Yolo", False)
    assert run.warnings == ("2", "3", "4", "5", "6")


def test_times_and_places_only_grow() -> None:
    run = reduce(reduce(after(), e.Event("r-1", 9, 9000, OPENED)), e.Event("r-1", 4, 10, ONE))
    assert (run.pos, run.created_ms, run.updated_ms) == (9, 1000, 9000)


def test_a_log_begins_with_a_creation() -> None:
    assert fold([]) is None
    with pytest.raises(ImpossibleFact, match="no beginning"):
        fold([at(0, OPENED)])


# ---- taken up again


def test_a_resume_begins_a_life_in_which_nothing_is_lost() -> None:
    cut_off = after(e.ProcessStarted(7, 1.5), OPENED, ONE, STARTED, TWO, ASKED, INTERRUPTED)
    assert (cut_off.interrupted_turn, cut_off.state) == ("t-1", "interrupted")
    run = reduce(cut_off, at(90, RESUMED))
    assert (run.state, run.resumed_from, run.ending, run.reason) == ("starting", "interrupted", "", "")
    assert (run.agent_name, run.command, run.expected_version) == ("Demo 2", ("demo", "2"), "2")
    assert (run.session, [each.turn for each in run.queue]) == ("s-1", ["t-2"])
    back = reduce(run, at(91, BACK))
    assert (back.state, back.resumes, back.resumed_from, back.interrupted_turn) == ("waiting", 1, "", "")
    assert wishes(run, BACK, back) == (StartTurn("t-2"),)


def test_a_resume_that_fails_leaves_the_run_as_it_was() -> None:
    before = after(OPENED, ONE, STARTED, TWO, ASKED, INTERRUPTED)
    starting = reduce(before, at(90, RESUMED))
    failed = conclude(starting, died="exit status 1", stop_by=None, is_shutdown=False)
    assert failed == not_resumed(starting, "the agent ended: exit status 1")
    run = reduce(starting, at(91, failed))
    assert run.ending == "interrupted"
    for name in ("asks", "queue", "interrupted_turn", "session", "turns"):
        assert getattr(run, name) == getattr(before, name), name


def test_only_what_was_interrupted_keeps_something_to_send() -> None:
    run = after(OPENED, ONE, STARTED, TWO, GONE, RESUMED)
    assert (run.queue, run.interrupted_turn, run.asks) == ((), "", ())


def test_an_answer_that_comes_after_the_agent_is_told_with_the_session() -> None:
    run = after(OPENED, ONE, STARTED, ASKED, INTERRUPTED, ANSWERED)
    assert run.late_answers == ("a-1",)
    assert reduce(reduce(run, at(90, RESUMED)), at(91, BACK)).late_answers == ()
    assert after(OPENED, ONE, STARTED, ASKED, ANSWERED).late_answers == ()


# ---- time and bounds


def test_time_at_work_is_a_turns_without_what_a_person_and_a_sleep_took() -> None:
    moments = [(1_000, OPENED), (2_000, ONE), (3_000, STARTED), (5_000, ASKED), (99_000, ANSWERED)]
    run = reduce(None, e.Event("r-1", 0, 0, CREATED))
    for pos, (at_ms, fact) in enumerate((*moments, (101_000, e.Slept(1_500)), (102_000, ENDED)), 1):
        run = reduce(run, e.Event("r-1", pos, at_ms, fact))
    assert run.worked_ms == 2_000 + 3_000 - 1_500
    assert run.at_work_since_ms is None


def test_a_bound_ends_the_turn_and_holds_the_queue_until_a_person_speaks() -> None:
    assert told(OPENED, ONE, STARTED, OVER) == [SendCancel("t-1")]
    assert told(OPENED, ONE, STARTED, TWO, OVER, ENDED) == []
    assert told(OPENED, ONE, STARTED, TWO, OVER, ENDED, e.PromptQueued("t-3", 1, "person")) == [
        StartTurn("t-2")
    ]


def test_a_silence_is_over_with_a_word_or_with_the_turn() -> None:
    silent = (OPENED, ONE, STARTED, e.Stalled(600))
    assert after(*silent).stalled_ms is not None
    assert after(*silent, e.Stirred()).stalled_ms is None
    assert after(*silent, ENDED).stalled_ms is None
    assert after(*silent, INTERRUPTED).stalled_ms is None


# ---- how it ends


@pytest.mark.parametrize(
    ("facts", "stop_by", "is_shutdown", "ending", "reason"),
    [
        ((), None, False, "failed", "the agent ended before it opened a session: exit status 1"),
        ((OPENED, ONE, STARTED), None, False, "failed", "the agent ended in mid-turn: exit status 1"),
        ((OPENED,), None, False, "completed", "the agent ended by itself: exit status 1"),
        ((OPENED, ONE, STARTED, STOP), "person", False, "stopped", "stopped by person"),
        ((STOP,), "person", False, "stopped", "stopped by person"),
        ((OPENED, ONE, STARTED), None, True, "interrupted", "the daemon stopped"),
    ],
)
def test_an_ending_says_what_happened(
    facts: tuple[e.Fact, ...], stop_by: str | None, is_shutdown: bool, ending: str, reason: str
) -> None:
    concluded = conclude(after(*facts), died="exit status 1", stop_by=stop_by, is_shutdown=is_shutdown)
    assert concluded == e.RunEnded(ending, reason)


# ---- the table

IN_PHASE: dict[Phase, Run] = {
    Phase.STARTING: after(ASKED),
    Phase.READY: after(OPENED, ASKED),
    Phase.CLOSING: after(OPENED, ASKED, STOP),
    Phase.ENDED: after(OPENED, ASKED, INTERRUPTED),
}
RUNNING = (e.TurnEnded, e.TurnFailed, e.CancelAsked)


def test_every_fact_has_an_example() -> None:
    assert set(EXAMPLES) == set(get_args(e.Fact))


@pytest.mark.parametrize("phase", Phase, ids=str)
@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_a_fact_moves_a_run_as_the_table_says_or_not_at_all(phase: Phase, kind: type) -> None:
    run = IN_PHASE[phase]
    if kind in RUNNING and phase in (Phase.READY, Phase.CLOSING):
        run = replace(run, turn=after(OPENED, ONE, STARTED).turn)
    if kind is e.TurnStarted:
        run = replace(run, queue=after(ONE).queue)
    assert run.phase is phase
    wanted = NEXT[phase].get(kind)
    if wanted is None:
        with pytest.raises(ImpossibleFact):
            reduce(run, at(99, EXAMPLES[kind]))
    else:
        moved = reduce(run, at(99, EXAMPLES[kind]))
        assert moved.phase is wanted
        wishes(run, EXAMPLES[kind], moved)


def test_only_a_resume_leads_out_of_the_end_and_nothing_else_is_begun_in_it() -> None:
    out = {fact for fact, phase in NEXT[Phase.ENDED].items() if phase is not Phase.ENDED}
    assert out == {e.RunResumed}
    assert not {e.TurnStarted, e.PromptQueued, e.PermissionAsked, e.QuestionAsked} & set(NEXT[Phase.ENDED])
    assert not {e.TurnStarted, e.PromptQueued, e.SessionOpened} & set(NEXT[Phase.CLOSING])


# ---- any order of facts

TURNS = st.sampled_from(["t-1", "t-2", "t-3"])
ASKS = st.sampled_from(["a-1", "a-2"])
CALLS = st.sampled_from(["c-1", "c-2"])
STATUSES = st.sampled_from([None, "pending", "in_progress", "completed", "failed", "odd"])
FACTS: st.SearchStrategy[e.Fact] = st.one_of(
    st.sampled_from(list(EXAMPLES.values())),
    st.builds(e.PromptQueued, TURNS, st.just(1), st.just("person")),
    st.builds(e.TurnStarted, TURNS),
    st.builds(e.TurnEnded, TURNS, st.sampled_from(["end_turn", "", "banana"])),
    st.builds(e.TurnFailed, TURNS, st.just("boom"), st.booleans()),
    st.builds(e.ToolChanged, CALLS, status=STATUSES),
    st.builds(e.AskAnswered, ASKS, st.just("allow"), st.just("y"), st.just("person"), st.just("person")),
    st.builds(e.AskWithdrawn, ASKS, st.just("gone")),
    st.sampled_from([INTERRUPTED, QUESTION, CANCEL, STOP, OPENED]),
)


def has_sense(run: Run) -> None:
    """What holds of a run whatever came before."""
    if run.phase is Phase.ENDED:
        assert run.turn is None
        assert run.pid is None
        assert run.asks == () or run.ending == "interrupted"
    if run.turn is not None:
        assert run.phase in (Phase.READY, Phase.CLOSING)
    assert len({each.call for each in run.tools}) == len(run.tools)
    assert run.turns >= 0


@given(st.lists(FACTS, max_size=40))
def test_any_order_of_facts_is_taken_or_refused_and_a_refused_one_changes_nothing(
    facts: list[e.Fact],
) -> None:
    run = after()
    cancels: list[str] = []
    begun: list[str] = []
    for pos, fact in enumerate(facts, 1):
        copy = replace(run)
        try:
            moved = reduce(run, at(pos, fact))
        except ImpossibleFact:
            assert run == copy
            continue
        wanted = wishes(run, fact, moved)
        starts = [wish.turn for wish in wanted if isinstance(wish, StartTurn)]
        assert len(starts) <= 1
        if starts:
            assert moved.turn is None
            assert moved.queue[0].turn == starts[0]
        if isinstance(fact, e.TurnStarted):
            begun.append(fact.turn)
        cancels += [f"{wish.turn} {len(begun)}" for wish in wanted if isinstance(wish, SendCancel)]
        has_sense(moved)
        run = moved
    assert len(cancels) == len(set(cancels)), "each turn is cancelled once"


@given(st.lists(FACTS, max_size=30))
def test_a_fold_is_the_steps_one_by_one(facts: list[e.Fact]) -> None:
    taken = [at(0, CREATED)]
    run = reduce(None, taken[0])
    for pos, fact in enumerate(facts, 1):
        try:
            run = reduce(run, at(pos, fact))
        except ImpossibleFact:
            continue
        taken.append(at(pos, fact))
    assert fold(taken) == run
