"""Naive Bayes: a distribution for each class, in closed form if labels are known, and by EM where some are not."""
