"""Names that can be read aloud."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from devplane.core import ids

RANDOM = st.binary(min_size=ids.ID_BYTES, max_size=ids.ID_BYTES)


@given(RANDOM)
def test_an_id_is_its_prefix_and_ten_characters_that_are_not_mistaken(random: bytes) -> None:
    prefix, _, rest = ids.make("r", random).partition("-")
    assert prefix == "r"
    assert len(rest) == 10
    assert not set(rest) & set("ilouILOU")


@given(st.lists(st.integers(min_value=0, max_value=31), min_size=10, max_size=10))
def test_every_five_bits_make_a_character_of_their_own(digits: list[int]) -> None:
    made = ids.make("a", bytes(digits)).removeprefix("a-")
    assert [ids.ALPHABET.index(char) for char in made] == digits


def test_the_same_bytes_make_the_same_id() -> None:
    assert ids.make("t", b"0123456789") == ids.make("t", b"0123456789")
