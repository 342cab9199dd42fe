"""Nouns of graphical models: directed graphs, factors, networks of tables. Variables are numbers 0 … d − 1 here."""
