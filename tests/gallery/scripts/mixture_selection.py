"""How many Gaussians, and of what shape: the lowest BIC says."""

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

rng = np.random.RandomState(0)
stretched = rng.randn(250, 2) @ np.array([[0.0, -0.1], [1.7, 0.4]])
round_one = 0.7 * rng.randn(250, 2) + np.array([-4, 1])
X = np.concatenate([stretched, round_one])
grid = {"n_components": [1, 2, 3], "covariance_type": ["spherical", "full"]}
search = GridSearchCV(GaussianMixture(random_state=0), grid, cv=3, scoring=lambda model, rows, _=None: -model.bic(rows))
search.fit(X)
print("components", search.best_params_["n_components"])
print("full", search.best_params_["covariance_type"] == "full")
best = GaussianMixture(n_components=2, covariance_type="full", random_state=0, tol=1e-6).fit(X)
print("bic", best.bic(X))
print("means", np.abs(best.means_).sum())
