"""Boosted trees on the diabetes data: the error falls with the number of trees."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingRegressor
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=13)
model = GradientBoostingRegressor(n_estimators=200, max_depth=4, learning_rate=0.02, random_state=0)
model.fit(X_train, y_train)
staged = [mean_squared_error(y_test, each) for each in model.staged_predict(X_test)]
print("first", staged[0])
print("last", staged[-1])
print("r2", model.score(X_test, y_test))
high = y > 140
print("ada", AdaBoostClassifier(n_estimators=50).fit(X[:300], high[:300]).score(X[300:], high[300:]))
