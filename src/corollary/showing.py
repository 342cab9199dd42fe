"""What fitted models can say of themselves to people: reasons for predictions, a page about them, their evidence."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier, is_regressor
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if

from corollary.core.evidence import TONES, Evidence
from corollary.registry import public_function

_BANNER = (
    '<div style="font:14px/1.5 system-ui,sans-serif;margin:0 0 6px;padding:6px 10px;border-left:3px solid {colour};'
    'overflow-wrap:anywhere">{evidence}</div>'
)


def _predicts_a_target(model: Any) -> bool:
    return bool(is_classifier(model) or is_regressor(model))


class Shown:
    """An estimator that explains its predictions and, once fitted, leads with its evidence where it is shown."""

    @available_if(_predicts_a_target)
    def explain(self, X: Any, *, background: Any = None, draws: int = 32, random_state: Any = 0) -> Any:
        """Share out each prediction among the columns of X: see :func:`corollary.explain`."""
        explain = public_function("explain")
        return explain(self, X, background=background, draws=draws, random_state=random_state)

    @available_if(_predicts_a_target)
    def report(self, X: Any, y: Any, *, background: Any = None, random_state: Any = 0) -> Any:
        """A page on how well this model does on rows X with answers y: see :func:`corollary.model_report`."""
        report = public_function("model_report")
        return report(self, X, y, background=background, random_state=random_state)

    def _html_repr(self) -> str:
        """scikit-learn's diagram; of a fitted model the evidence goes before it."""
        diagram = estimator_html_repr(self)
        evidence = vars(self).get("evidence_")
        if not isinstance(evidence, Evidence):
            return str(diagram)
        colour = TONES[evidence.tone].replace("inherit", "currentColor")
        return _BANNER.format(colour=colour, evidence=evidence._repr_html_()) + diagram
