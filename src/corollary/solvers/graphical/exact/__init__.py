"""Exact inference: elimination, and trees of cliques, with what they cost."""
