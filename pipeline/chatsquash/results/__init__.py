"""A finished output read back: verify, statistics, checks, records, redaction."""
