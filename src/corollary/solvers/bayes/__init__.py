"""Naive Bayes: one distribution for each class, learnt in one pass where labels are known and by EM where some are not."""
