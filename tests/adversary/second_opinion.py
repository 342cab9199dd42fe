"""A second opinion on linear models, by an interior-point conic solver of other people: Clarabel, where installed.

It is given the problem centred and scaled by the referee; what it finds is only believed once its objective has been
evaluated in extended precision, by ``plain_objective``, so it can refute, and its silence is worth a little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from plain_objective import Plain

from corollary.referee.linear.losses import pieces
from corollary.referee.linear.problem import Objective, Problem

OTHER_FORMS = {"scale", "count", "groups"}  # of problems that Clarabel is not asked about
SHARE = 0.25  # of the fits that are asked about
Array = Any


@dataclass
class Program:
    """min ½ vᵀPv + qᵀv over blocks of variables, subject to rows of inequalities and of exponential cones."""

    sizes: list[int] = field(default_factory=list)
    quadratic: list[Array] = field(default_factory=list)
    linear: list[Array] = field(default_factory=list)
    below: list[tuple[dict[int, Any], Array]] = field(default_factory=list)  # Σ A v ≤ b
    equal: list[tuple[dict[int, Any], Array]] = field(default_factory=list)
    cones: list[tuple[dict[int, Any], Array]] = field(default_factory=list)  # b − Σ A v in triples of exp. cones

    def add(self, size: int, linear: Any = 0.0, quadratic: Any = 0.0) -> int:
        self.sizes.append(size)
        self.linear.append(np.broadcast_to(np.asarray(linear, float), (size,)))
        self.quadratic.append(np.broadcast_to(np.asarray(quadratic, float), (size,)))
        return len(self.sizes) - 1

    def solve(self) -> list[Array] | None:
        import clarabel

        rows, right, cones = [], [], []
        kinds = ((self.equal, clarabel.ZeroConeT), (self.below, clarabel.NonnegativeConeT), (self.cones, None))
        for kind, make in kinds:
            for parts, b in kind:
                blocks = [parts.get(i, sp.csc_matrix((len(b), size))) for i, size in enumerate(self.sizes)]
                rows.append(sp.hstack(blocks))
                right.append(np.asarray(b, float))
                cones += [make(len(b))] if make is not None else [clarabel.ExponentialConeT()] * (len(b) // 3)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.time_limit = False, 5.0
        A, P = sp.csc_matrix(sp.vstack(rows)), sp.diags(np.concatenate(self.quadratic)).tocsc()
        q, b = np.concatenate(self.linear), np.concatenate(right)
        v = np.asarray(clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().x)
        return np.split(v, np.cumsum(self.sizes)[:-1]) if np.isfinite(v).all() else None


def second_opinion(model: Any, data: Any, rng: np.random.Generator) -> tuple[bool, str] | None:
    """Whether Clarabel finds nothing better, with its words; None where it was not asked or does not know."""
    if rng.random() > SHARE or not hasattr(model, "coef_"):
        return None
    try:
        import clarabel  # noqa: F401
    except ImportError:
        return None
    for given, coef, start, tolerance in _problems(model, data):
        with np.errstate(all="ignore"):
            found, plain = _solved(Problem(Objective(**given))), Plain(**given)
            if found is None:
                return None
            told = coef.astype(np.longdouble), np.longdouble(np.ravel(start)[0])
            here, there = plain.value(*told), plain.value(*found)
            slack, least = plain.rounding(*told), plain.yardstick()
        if here - there > 1.01 * tolerance * max(abs(here), least) + slack:
            return False, f"Clarabel: objective {float(there):.8g} below {float(here):.8g}"
    return True, ""


def _problems(model: Any, data: Any) -> list[tuple[dict[str, Any], Array, Any, float]]:
    """The single convex problems of a linear model; none for several classes and for what is not convex."""
    certificate = model.evidence_.certificate
    if certificate.kind.name != "OPTIMAL" or (np.ndim(model.coef_) > 1 and len(model.coef_) > 1):
        return []
    y, weights = np.asarray(data.y), np.ones(len(data.y)) if data.weights is None else data.weights
    terms = reading(type(model).__name__, model.get_params(deep=False), vars(model))
    if terms is None or terms["loss"] == "softmax" or not OTHER_FORMS.isdisjoint(terms):
        return []
    w = np.asarray(weights, dtype=np.longdouble)
    if hasattr(model, "classes_"):
        w = _by_class(model, y, w)
        y = np.where(y == model.classes_[1], 1.0, -1.0)
    w = w / w.sum() if terms.pop("mean") else w
    return [
        ({"X": data.X, "y": y, "weights": w, **terms}, np.ravel(model.coef_), model.intercept_, certificate.tolerance)
    ]


def reading(name: str, given: dict[str, Any], found: dict[str, Any]) -> dict[str, Any] | None:
    """What the documentation of these classes says is minimised, from the parameters ``given`` and what was ``found``.

    It is read here once more, apart from what the models tell the referee: were that wrong, both would be deceived.
    Counts of coefficients, groups and a scale are read, but Clarabel is not asked about them. None for losses and
    penalties of one's own.
    """
    terms = {"fit_intercept": given["fit_intercept"], "positive": given.get("positive", False), "mean": False}
    alpha, C = (found.get(f"{key}_", given.get(key)) for key in ("alpha", "C"))
    ratio = found.get("l1_ratio_", given.get("l1_ratio"))
    if name in ("LinearRegression", "Ridge", "RidgeCV"):  # ½ Σ w r² + ½ α ‖β‖²
        return terms | {"loss": "squared", "l2": 0.0 if name == "LinearRegression" else float(alpha)}
    if name in ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"):  # half the mean of r², and the elastic net
        ratio = 1.0 if name.startswith("Lasso") else ratio
        return terms | {"loss": "squared", "l1": alpha * ratio, "l2": alpha * (1 - ratio), "mean": True}
    if name.startswith("LogisticRegression"):  # C Σ w ℓ + the elastic net, over C
        return terms | {"loss": "logistic", "l1": ratio / C, "l2": (1 - ratio) / C}
    if name == "HuberRegressor":  # Σ w (σ + σ H(r/σ)) + α ‖β‖²
        return terms | {"loss": "huber", "parameter": given["epsilon"], "l2": 2 * alpha, "scale": found["scale_"]}
    if name != "LinearModel" or not all(isinstance(given[part], str) for part in ("loss", "penalty")):
        return None
    own = {"huber": "delta", "quantile": "quantile", "epsilon_insensitive": "epsilon", "tweedie": "power"}
    parameter = given[own[given["loss"]]] if given["loss"] in own else 0.0
    terms |= {"loss": given["loss"], "parameter": parameter, "mean": True}
    if given["penalty"] == "l0":
        return terms | {"count": alpha}
    if given["penalty"] == "group":  # α Σ √|g| ‖β_g‖
        d = np.shape(found["coef_"])[-1]
        groups = np.arange(d) if given["groups"] is None else np.unique(given["groups"], return_inverse=True)[1]
        return terms | {"groups": groups, "group_strengths": alpha * np.sqrt(np.bincount(groups))}
    shares = {"none": (0.0, 0.0), "l1": (1.0, 0.0), "l2": (0.0, 1.0), "elastic_net": (ratio, 1 - ratio)}
    l1, l2 = (alpha * share for share in shares[given["penalty"]])
    return terms | {"l1": l1, "l2": l2}


def _by_class(model: Any, y: Array, w: Array) -> Array:
    """Weights of rows times those of their classes; balanced ones make the classes weigh the same."""
    chosen = model.get_params(deep=False).get("class_weight")
    if chosen is None:
        return w
    total, factors = w.sum(), np.ones_like(w)
    for label in model.classes_:
        own = w[y == label].sum()
        balanced = total / (len(model.classes_) * own) if own > 0 else 0.0
        factors[y == label] = balanced if chosen == "balanced" else chosen.get(label, 1.0)
    return w * factors


def _solved(problem: Problem) -> tuple[Array, Any] | None:
    """Clarabel's coefficients and intercept, or None where the loss has no such form or it gives up."""
    given = problem.given
    Z, w, y = sp.csc_matrix(problem.Z.astype(float)), problem.weights.astype(float), problem.y[:, 0].astype(float)
    n, p = Z.shape
    one, program = sp.identity(n, format="csc"), Program()
    l2 = np.r_[np.zeros(problem.first), problem.strength["l2"].astype(float)]
    x = program.add(p, 0.0, l2)
    split = pieces(given.loss, y, given.parameter)
    if split is not None:
        for centre, low, high in split:
            u = program.add(n, w)
            for slope in (low.astype(float), high.astype(float)):
                program.below.append(({x: sp.diags(slope) @ Z, u: -one}, slope * centre.astype(float)))
    elif given.loss in ("squared", "huber"):
        r = program.add(n, 0.0, w)
        parts = {x: Z, r: -one}
        if given.loss == "huber":
            s, u = program.add(n), program.add(n, w * given.parameter)
            parts[s] = -one
            program.below += [({s: one, u: -one}, np.zeros(n)), ({s: -one, u: -one}, np.zeros(n))]
        program.equal.append((parts, y))
    elif given.loss == "squared_hinge":
        u = program.add(n, 0.0, 2 * w)
        program.below += [({x: -sp.diags(y) @ Z, u: -one}, -np.ones(n)), ({u: -one}, np.zeros(n))]
    elif given.loss == "logistic":
        _logistic(program, x, Z, y, w)
    else:
        return None
    if given.l1 > 0 or given.positive:
        side = sp.csc_matrix(sp.identity(p))[problem.first :]
        v = program.add(p - problem.first, problem.strength["l1"].astype(float))
        eye = sp.identity(p - problem.first)
        none = np.zeros(p - problem.first)
        program.below += [({x: side, v: -eye}, none), ({x: -side, v: -eye}, none)]
        if given.positive:
            program.below.append(({x: -side}, none))
    found = program.solve()
    if found is None:
        return None
    answer = found[x].astype(np.longdouble)
    if given.positive:
        answer[problem.first :] = np.maximum(answer[problem.first :], 0)
    beta = answer[problem.first :] * problem.scale
    return beta, answer[: problem.first].sum() - problem.centre.astype(np.longdouble) @ beta


def _logistic(program: Program, x: int, Z: Any, y: Array, w: Array) -> None:
    """u ≥ log(1 + exp(−m)) as a + b ≤ 1 with a ≥ exp(−u), b ≥ exp(−m − u); cones are (s, 1, t): t ≥ exp(s)."""
    n = len(y)
    u, a, b = program.add(n, w), program.add(n), program.add(n)
    one = sp.identity(n, format="csc")
    program.below.append(({a: one, b: one}, np.ones(n)))
    first, last = (sp.kron(one, np.array(e), format="csc") for e in ([[1.0], [0], [0]], [[0], [0], [1.0]]))
    middle = np.tile([0.0, 1.0, 0.0], n)
    program.cones.append(({u: first, a: -last}, middle))
    program.cones.append(({x: first @ sp.diags(y) @ Z, u: first, b: -last}, middle))
