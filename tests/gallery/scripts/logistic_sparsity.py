"""How many pixels logistic regression needs to tell digits apart, by penalty."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:500], y[:500] > 4
for C in (1.0, 0.1):
    for l1_ratio in (1.0, 0.0):
        model = LogisticRegression(C=C, l1_ratio=l1_ratio, solver="saga", tol=1e-6, max_iter=20000).fit(X, y)
        print(f"zeros_{C}_{l1_ratio}", np.mean(np.abs(model.coef_) < 1e-3))
        print(f"score_{C}_{l1_ratio}", model.score(X, y))
