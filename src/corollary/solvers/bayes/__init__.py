"""Naive Bayes: a distribution for each class, learnt in one pass if labels are known, and by EM where some are not."""
