"""Cost-complexity pruning: from the full tree to its root."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X_train, y_train)
print("impurity", path.impurities[-1])
print("last_alpha", path.ccp_alphas[-1])
for alpha in (0.0, 0.015, 0.05):
    tree = DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(X_train, y_train)
    print(f"score_{alpha}", tree.score(X_test, y_test))
    if alpha:
        print(f"depth_{alpha}", tree.get_depth())
