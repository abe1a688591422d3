"""Sets and waits that a plan can do without, since others order all that they order."""
