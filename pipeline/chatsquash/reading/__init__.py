"""A log of exchanges to entries: lines, envelopes, the format of each side, edits, replies."""
