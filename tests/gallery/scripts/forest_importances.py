"""Which columns a forest uses, by impurity and by permutation."""

from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

X, y = make_classification(
    n_samples=2400, n_features=8, n_informative=3, n_redundant=0, n_classes=2, random_state=0, shuffle=False
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=42)
for cls in (RandomForestClassifier, ExtraTreesClassifier):
    forest = cls(n_estimators=200, random_state=0).fit(X_train, y_train)
    print(f"informative_{cls.__name__}", forest.feature_importances_[:3].sum())
    print(f"score_{cls.__name__}", forest.score(X_test, y_test))
shuffled = permutation_importance(forest, X_test, y_test, n_repeats=5, random_state=0)
print("permuted", shuffled.importances_mean[:3].sum())
print("oob", RandomForestClassifier(200, oob_score=True, random_state=0).fit(X, y).oob_score_)
