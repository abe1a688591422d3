"""Calls of the DSL's ops: which op is meant, its arguments, and the ops of the IR that it becomes."""
