from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge


class Robust(Ridge):
    """A class of one's own stays with scikit-learn's."""


X, y = load_iris(return_X_y=True)
print(KMeans(3, random_state=0).fit(X).inertia_)
KMeans(3, max_iter=1, n_init=1, random_state=0).fit(X)
Ridge().fit(X, y)
Robust().fit(X, y)
