"""Beliefs about parameters that data update in closed form: conjugate priors as small immutable values.

================================ =================== ==============================================
belief                           about               predicts
================================ =================== ==============================================
:class:`Beta`                    a probability       beta-binomial counts
:class:`Dirichlet`               shares of K classes Dirichlet-multinomial counts
:class:`Gamma`                   a rate of counts    negative binomial counts
:class:`NormalInverseGamma`      mean and variance   numbers by Student's t
================================ =================== ==============================================

``prior.update(data)`` is the posterior, which is a prior for further data: ``a.update(x).update(y)`` is the update by
both, in any order. Weights are repetitions. All have ``mle``, ``map``, ``mean``, ``variance``, ``interval``,
``predictive``, ``log_likelihood``, ``log_evidence``, ``log_prob``, ``sample`` and ``plot``.
"""

from corollary.bayes.conjugate.beta import Beta
from corollary.bayes.conjugate.dirichlet import Dirichlet
from corollary.bayes.conjugate.gamma import Gamma
from corollary.bayes.conjugate.normal import MeanVariance, NormalInverseGamma

__all__ = ["Beta", "Dirichlet", "Gamma", "MeanVariance", "NormalInverseGamma"]
