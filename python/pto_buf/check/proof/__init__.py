"""The proof for all runs: goals in groups, and the abstract states that a search goes through. Pure."""
