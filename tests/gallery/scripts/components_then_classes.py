"""How many principal components to keep for a classifier: a grid search over the pipeline."""

from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
steps = [("scaler", StandardScaler()), ("pca", PCA()), ("logistic", LogisticRegression(max_iter=10000))]
search = GridSearchCV(Pipeline(steps), {"pca__n_components": [5, 20], "logistic__C": [0.01, 1.0]}, cv=2)
search.fit(X[:300], y[:300])
print("score", search.best_score_)
print("components", search.best_params_["pca__n_components"])
pca = PCA(n_components=2).fit(load_iris().data)
print("variance", *pca.explained_variance_ratio_)
print("noise", pca.noise_variance_)
