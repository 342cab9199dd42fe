"""The search behind ``compare``: configurations, time, halving, a blend of the best, and what of it is luck."""
