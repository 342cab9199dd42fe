"""Random numbers without a generator: 64 bits that depend on a number alone, by Stafford's mixing of bits."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.codes import MULTIPLIERS

GOLDEN, FIRST, SECOND = (np.uint64(number) for number in MULTIPLIERS)


@inner_kernel
def stir(z):
    """The high bits of the result depend on all bits of z; the low ones on fewer."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    return (z ^ (z >> np.uint64(27))) * SECOND


@inner_kernel
def mix(z):
    """A 64-bit number without visible relation to z; different for different z."""
    z = stir(z)
    return z ^ (z >> np.uint64(31))


@inner_kernel
def next_bits(state):
    """64 random bits; the last entry of ``state`` counts."""
    last = state.shape[0] - 1
    state[last] += GOLDEN
    return mix(state[last])


@inner_kernel
def unit(bits):
    """A number in [0, 1) from the high 53 of 64 random bits."""
    return float(bits >> np.uint64(11)) * 2.0**-53
