"""The lasso and the elastic net on a signal of a few correlated columns."""

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso, LassoCV, lasso_path
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(3)
times = np.linspace(0, 2, 120)
X = np.stack([np.sin(2 * np.pi * (1 + k / 3) * times + k) for k in range(60)], axis=1)
coef = np.zeros(60)
coef[:6] = [3, -2, 2, 1, -1, 2]
y = X @ coef + 0.3 * rng.normal(size=120)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, shuffle=False)
for model in (Lasso(alpha=0.05), ElasticNet(alpha=0.05, l1_ratio=0.7)):
    name = type(model).__name__
    model.fit(X_train, y_train)
    print(f"r2_{name}", r2_score(y_test, model.predict(X_test)))
    print(f"columns_{name}", np.count_nonzero(np.abs(model.coef_) > 1e-3))
alphas, coefs, _ = lasso_path(X_train, y_train, alphas=[1.0, 0.3, 0.1])
print("path", np.abs(coefs).sum())
print("alpha", LassoCV(cv=4, alphas=np.logspace(-3, 0, 10)).fit(X_train, y_train).alpha_)
