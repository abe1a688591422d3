"""What is known of numbers over all runs: polynomials, ranges, residues, and reasoning with them. Pure."""
