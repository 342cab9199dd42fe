"""Nearest neighbours with equal votes and with votes by distance."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_iris(return_X_y=True)
for weights in ("uniform", "distance"):
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=11, weights=weights))
    print(f"score_{weights}", cross_val_score(model, X[:, [0, 2]], y).mean())
line = np.sort(5 * np.random.RandomState(0).rand(40, 1), axis=0)
values = np.sin(line).ravel()
smooth = KNeighborsRegressor(5, weights="distance").fit(line, values)
print("curve", smooth.predict(np.linspace(0, 5, 50)[:, None]).sum())
distances, _ = NearestNeighbors(n_neighbors=4, algorithm="ball_tree").fit(X).kneighbors(X)
print("distances", distances.sum())
print("edges", kneighbors_graph(X, 3).nnz)
