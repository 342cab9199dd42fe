"""Random numbers without a generator: 64 bits that depend on a number alone, by Stafford's mixing of bits."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio, odd: multiples of it are spread evenly
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


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
