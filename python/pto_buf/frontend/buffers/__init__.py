"""Where tiles go: shapes, slot sets, destinations, and what slots hold."""
