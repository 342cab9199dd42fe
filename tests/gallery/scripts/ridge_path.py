"""How ridge shrinks the coefficients of an ill-conditioned problem."""

import numpy as np
from scipy.linalg import hilbert
from sklearn.linear_model import Ridge, RidgeCV

X, y = hilbert(8), np.ones(8)
for alpha in np.logspace(-6, 0, 4):
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(X, y)
    print(f"norm_{alpha:.0e}", np.linalg.norm(ridge.coef_))
print("chosen", RidgeCV(alphas=np.logspace(-6, 0, 13), fit_intercept=False).fit(X, y).alpha_)
