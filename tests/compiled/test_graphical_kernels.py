"""Kernels of sampling against plain Python and NumPy."""

from __future__ import annotations

import numpy as np
from tests.solvers.graphical.enumeration import random_network

from corollary._compiled.graphical.draws import add_logs, draw_rows, tally
from corollary._compiled.graphical.gibbs import gibbs_sweeps
from corollary._compiled.graphical.mean_field import ascend, bound
from corollary._compiled.mixing import GOLDEN
from corollary.core.graphical.flat import Flat, flatten
from corollary.solvers.graphical.approximate.gibbs import _Blankets
from corollary.solvers.graphical.approximate.mean_field import _Ascent

WORD = 2**64 - 1


def mixed(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def some_flat(seed: int) -> Flat:
    return flatten(random_network(seed, zeros=0.2 * (seed % 2)), {1: 0, 4: 0}, range(6), whole=True)


def drawn_by_hand(flat: Flat, seed: int, number: int) -> list[int]:
    z, row = mixed((seed + int(GOLDEN) * (number + 1)) & WORD), list[int]()
    for j in range(flat.size):
        shares = flat.tables[j][tuple(row[v] for v in flat.scopes[j][:-1])]
        z = (z + int(GOLDEN)) & WORD
        level = (mixed(z) >> 11) / 2**53
        ends = np.cumsum(shares) / shares.sum()
        row.append(min(int(np.searchsorted(ends, level, side="right")), int(np.flatnonzero(shares)[-1])))
    return row


def test_rows_are_drawn_parent_by_parent() -> None:
    for seed in range(4):
        flat = some_flat(seed)
        rows = np.empty((50, flat.size), dtype=np.int32)
        columns = np.random.default_rng(seed).permutation(flat.size)  # where each variable is to stand
        draw_rows(
            7, np.uint64(12345), flat.scope_starts, columns[flat.scope], flat.strides, flat.table_starts,
            flat.cumulative, columns, rows,
        )  # fmt: skip
        assert rows[:, columns].tolist() == [drawn_by_hand(flat, 12345, 7 + i) for i in range(50)]


def test_logarithms_of_entries_are_added_up() -> None:
    for seed in range(4):
        flat = some_flat(seed)
        rows = np.random.default_rng(seed).integers(0, flat.cards, size=(40, flat.size)).astype(np.int32)
        totals = np.full(40, flat.constant)
        add_logs(
            0, len(flat.tables), flat.scope_starts, flat.scope, flat.strides, flat.table_starts, flat.logs, rows, totals
        )
        with np.errstate(divide="ignore"):
            plain = [
                flat.constant
                + sum(np.log(t[tuple(row[list(s)])]) for t, s in zip(flat.tables, flat.scopes, strict=True))
                for row in rows
            ]
        np.testing.assert_allclose(totals, plain, rtol=1e-12)
        np.testing.assert_array_equal(totals, flat.log_joint(rows))


def test_weights_are_tallied_by_state() -> None:
    rng = np.random.default_rng(0)
    cards = np.array([2, 3, 2])
    rows, weights = rng.integers(0, cards, size=(60, 3)).astype(np.int32), rng.random(60)
    offsets, sums, squares = np.array([0, 2, 5, 7]), np.zeros(7), np.zeros(7)
    tally(rows, weights, offsets, sums, squares)
    for j in range(3):
        held = rows[:, j, None] == np.arange(cards[j])
        np.testing.assert_allclose(sums[offsets[j] : offsets[j + 1]], weights @ held)
        np.testing.assert_allclose(squares[offsets[j] : offsets[j + 1]], weights**2 @ held)


def test_a_sweep_draws_each_variable_given_all_others() -> None:
    """Conditionals worked out from the whole joint, states drawn with the same random numbers."""
    for seed in range(4):
        flat = some_flat(seed)
        joint = np.stack(np.unravel_index(np.arange(int(np.prod(flat.cards))), tuple(flat.cards)), axis=1)
        logs = flat.log_joint(joint).reshape(tuple(flat.cards))
        first = np.array(np.unravel_index(int(np.argmax(logs)), logs.shape), dtype=np.int64)
        blankets, at = _Blankets.of(flat), flat.table_starts[:-1].copy()
        for f, scope in enumerate(flat.scopes):
            at[f] += sum(first[v] * flat.strides[flat.scope_starts[f] + k] for k, v in enumerate(scope))
        state, stream = first.copy(), np.array([99], dtype=np.uint64)
        sums, squares, moves = np.zeros(flat.offsets[-1]), np.zeros(flat.offsets[-1]), np.zeros(flat.size, np.int64)
        gibbs_sweeps(
            30, stream, state, at, flat.cards, flat.offsets, blankets.starts, blankets.factors, blankets.strides,
            flat.logs, np.empty(3), sums, squares, moves,
        )  # fmt: skip
        z, plain, expected, changed = 99, first.copy(), np.zeros_like(sums), 0
        for _ in range(30):
            for v in range(flat.size):
                line = logs[tuple(slice(None) if u == v else plain[u] for u in range(flat.size))]
                shares = np.exp(line - line.max())
                z = (z + int(GOLDEN)) & WORD
                level = (mixed(z) >> 11) / 2**53 * shares.sum()
                expected[flat.offsets[v] : flat.offsets[v + 1]] += shares / shares.sum()
                before = plain[v]
                plain[v] = np.flatnonzero((np.cumsum(shares) - shares <= level) & (shares > 0))[-1]
                changed += int(before != plain[v])
        assert state.tolist() == plain.tolist()
        assert moves.sum() == changed
        np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-12)


def test_mean_field_by_sums_over_all_joint_states() -> None:
    """Updates and the bound from the whole table, zeros included."""
    for seed in range(4):
        flat = some_flat(seed)
        shape = tuple(flat.cards)
        rows = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
        logs = (flat.log_joint(rows) - flat.constant).reshape(shape)
        first = np.unravel_index(int(np.argmax(logs)), shape)
        plain = [np.eye(card)[s] for card, s in zip(shape, first, strict=True)]
        ascent = _Ascent(flat, plain)
        q = ascent.start.copy()
        for _ in range(3):
            change = ascend(q, flat.cards, flat.offsets, ascent.starts, ascent.factors, ascent.axes, *ascent._tables)
            before = [part.copy() for part in plain]
            for v in range(flat.size):
                weights = np.ones(shape)
                for u in range(flat.size):
                    along = [-1 if axis == u else 1 for axis in range(flat.size)]
                    weights = weights * (np.ones(shape[u]) if u == v else plain[u]).reshape(along)
                known = np.where(weights > 0, weights * np.where(weights > 0, logs, 0.0), 0.0)
                means = known.sum(axis=tuple(axis for axis in range(flat.size) if axis != v))
                plain[v] = np.exp(means - means.max()) / np.exp(means - means.max()).sum()
            np.testing.assert_allclose(q, np.concatenate(plain), atol=1e-12)
            moved = max(np.abs(new - old).max() for new, old in zip(plain, before, strict=True))
            assert abs(change - moved) < 1e-12
        joint = np.ones(shape)
        for u, part in enumerate(plain):
            joint = joint * part.reshape([-1 if axis == u else 1 for axis in range(flat.size)])
        held = joint > 0
        expected = (joint[held] * (logs[held] - np.log(joint[held]))).sum()
        assert abs(bound(q, flat.cards, flat.offsets, *ascent._tables) - expected) < 1e-10
