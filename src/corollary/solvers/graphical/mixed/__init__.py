"""Questions to networks with numbers."""
