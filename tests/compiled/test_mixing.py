"""The mixer of bits against plain whole numbers, and against published ones."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from corollary._compiled.mixing import GOLDEN, mix, next_bits, stir, unit

WORD = 2**64 - 1


@numba.njit
def all_of(z: Any, state: Any) -> Any:
    return stir(z), mix(z), unit(mix(z)), next_bits(state)


def test_every_step_by_hand() -> None:
    for number in np.random.default_rng(0).integers(0, 2**64, 200, dtype=np.uint64):
        stirred, mixed, share, _ = all_of(number, np.zeros(1, dtype=np.uint64))
        z = int(number)
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        assert int(stirred) == z
        z ^= z >> 31
        assert int(mixed) == z
        assert share == (z >> 11) / 2**53


def test_a_counter_gives_the_published_numbers() -> None:
    """The first numbers of SplitMix64 from the seed 1234567, as its author prints them."""
    state = np.array([7, 1234567], dtype=np.uint64)
    found = [int(all_of(np.uint64(0), state)[3]) for _ in range(5)]
    assert found == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip
    assert state[0] == 7
    assert int(state[1]) == (1234567 + 5 * int(GOLDEN)) & WORD
