"""Running a `pto` kernel as its scalar unit does: every number known, one step for the pipes after another."""
