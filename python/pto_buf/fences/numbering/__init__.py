"""Ids of the hardware for events, and what becomes of events when ids are short."""
