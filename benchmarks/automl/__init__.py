"""``corollary compare`` beside FLAML and AutoGluon: the same tables, the same minutes, the same two cores."""
