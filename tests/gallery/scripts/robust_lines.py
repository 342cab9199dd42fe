"""A line through points with outliers: squared loss follows them, Huber's does not."""

import numpy as np
from sklearn.datasets import make_regression
from sklearn.linear_model import HuberRegressor, LinearRegression, Ridge

rng = np.random.RandomState(0)
X, y = make_regression(n_samples=20, n_features=1, random_state=0, noise=4.0, bias=100.0)
outliers = rng.normal(0, 0.5, size=(4, 1))
outliers[:2] += X.max() + X.mean() / 4.0
outliers[2:] += X.min() - X.mean() / 4.0
X = np.vstack((X, outliers))
y = np.concatenate((y, [y.min() + y.mean() / 4.0] * 2, [y.max() + y.mean() / 4.0] * 2))
for epsilon in (1.1, 1.35, 1.9):
    huber = HuberRegressor(alpha=0.0, epsilon=epsilon, tol=1e-8, max_iter=1000).fit(X, y)
    print(f"slope_{epsilon}", huber.coef_[0])
    print(f"outliers_{epsilon}", huber.outliers_.sum())
print("squares", LinearRegression().fit(X, y).coef_[0], Ridge(alpha=0.0).fit(X, y).coef_[0])
