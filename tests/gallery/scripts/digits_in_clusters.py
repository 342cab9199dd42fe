"""k-means on handwritten digits, from several kinds of starts."""

from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import v_measure_score

X, y = load_digits(return_X_y=True)
plain = KMeans(init="k-means++", n_clusters=10, n_init=4, random_state=0).fit(X)
print("inertia", plain.inertia_)
print("v_measure", v_measure_score(y, plain.labels_))
pca = PCA(n_components=10).fit(X)
print("from_components", KMeans(init=pca.components_, n_clusters=10, n_init=1).fit(X).inertia_)
print("variance", pca.explained_variance_ratio_.sum())
print("batches", MiniBatchKMeans(n_clusters=10, n_init=5, batch_size=512, random_state=0).fit(X).inertia_)
