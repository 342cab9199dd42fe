"""Least squares and ridge in closed form: the task, its primal and dual routes, and what builds on their factors."""
