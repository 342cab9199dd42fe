"""Hierarchical and spectral clustering of shapes that k-means cannot part."""

from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

shapes = {
    "circles": make_circles(n_samples=200, factor=0.5, noise=0.03, random_state=0),
    "moons": make_moons(n_samples=200, noise=0.04, random_state=0),
    "blobs": make_blobs(n_samples=200, centers=2, random_state=8),
}
for name, (X, y) in shapes.items():
    for linkage in ("single", "average", "complete", "ward"):
        labels = AgglomerativeClustering(n_clusters=2, linkage=linkage).fit_predict(X)
        print(f"{name}_{linkage}", adjusted_rand_score(y, labels))
    spectral = SpectralClustering(n_clusters=2, affinity="nearest_neighbors", n_neighbors=8, random_state=0)
    print(f"{name}_spectral", adjusted_rand_score(y, spectral.fit_predict(X)))
