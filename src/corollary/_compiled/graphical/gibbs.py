"""Sweeps of Gibbs sampling over the Markov blankets of discrete variables."""

from __future__ import annotations

import math

from corollary._compiled._jit import lean_kernel
from corollary._compiled.mixing import next_bits, unit


@lean_kernel
def gibbs_sweeps(
    n_sweeps, random, state, at, cards, offsets, starts, factors, strides, logs, room, sums, squares, moves
):
    """Redraw every variable given all others, n_sweeps times.

    ``at[f]`` is where factor f stands in ``logs``; variable v is in factors[starts[v]:starts[v + 1]], in which it
    moves by ``strides`` from one of its states to the next. The probabilities from which states are drawn are added to
    ``sums`` and their squares to ``squares``; ``moves[v]`` counts changes. The state it starts in must be possible.
    """
    m = state.shape[0]
    for _ in range(n_sweeps):
        for v in range(m):
            now, card = state[v], cards[v]
            best = -math.inf
            for s in range(card):
                total = 0.0
                for k in range(starts[v], starts[v + 1]):
                    total += logs[at[factors[k]] + (s - now) * strides[k]]
                room[s] = total
                best = max(best, total)
            norm = 0.0
            for s in range(card):
                room[s] = math.exp(room[s] - best)
                norm += room[s]
            level = unit(next_bits(random)) * norm
            chosen, passed = -1, 0.0
            for s in range(card):
                share = room[s] / norm
                sums[offsets[v] + s] += share
                squares[offsets[v] + s] += share * share
                if room[s] > 0.0 and passed <= level:
                    chosen = s
                passed += room[s]
            if chosen != now:
                for k in range(starts[v], starts[v + 1]):
                    at[factors[k]] += (chosen - now) * strides[k]
                state[v] = chosen
                moves[v] += 1
