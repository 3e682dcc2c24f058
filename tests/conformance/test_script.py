"""A script survives the way through a prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conformance import script as s

STEPS = st.one_of(
    st.builds(s.text, st.text()),
    st.builds(s.thinking, st.text(), pieces=st.integers(1, 9)),
    st.builds(s.shell, st.text()),
    st.builds(s.mcp, st.text(), st.text(), text=st.text()),
    st.just(s.plan([("one", "pending"), ("two", "completed")])),
    st.builds(s.delay, st.floats(0, 9)),
    st.just(s.hang()),
    st.builds(s.error, st.integers(400, 599), st.none() | st.just({"error": {}})),
    st.builds(s.usage, st.integers(), st.integers()),
    st.builds(s.Stop, st.sampled_from(["end_turn", "max_tokens", "refusal"])),
)


@given(st.lists(st.lists(STEPS)), st.text().filter(lambda text: s.MARKER not in text))
def test_what_is_found_in_a_prompt_is_what_was_scripted(rounds: list[list[s.Step]], around: str) -> None:
    assert s.find_script(around + s.script(*rounds) + around) == rounds


def test_of_two_scripts_in_a_prompt_the_last_counts() -> None:
    both = s.script([s.text("first")]) + s.script([s.text("second")])
    assert s.find_script(both) == [[s.text("second")]]


def test_a_prompt_without_a_script_has_none() -> None:
    assert s.find_script("hello") is None
