"""Approximate inference in networks of tables: samples, and mean field."""
