"""The pto and ptobuf dialects, made from one op table."""
