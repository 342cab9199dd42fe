"""Several regressors and what votes and stacks make of them."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor, StackingRegressor, VotingRegressor
from sklearn.linear_model import LassoCV, LinearRegression, RidgeCV
from sklearn.model_selection import cross_validate

X, y = load_diabetes(return_X_y=True)
members = [
    ("lasso", LassoCV(cv=3)),
    ("forest", RandomForestRegressor(n_estimators=60, min_samples_leaf=5, random_state=0)),
    ("line", LinearRegression()),
]
for model in (VotingRegressor(members), StackingRegressor(members, final_estimator=RidgeCV(), cv=3)):
    scores = cross_validate(model, X, y, cv=3, scoring=["r2", "neg_mean_absolute_error"])
    print(f"r2_{type(model).__name__}", scores["test_r2"].mean())
    print(f"mae_{type(model).__name__}", -scores["test_neg_mean_absolute_error"].mean())
print("bag", BaggingRegressor(n_estimators=30, random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:]))
