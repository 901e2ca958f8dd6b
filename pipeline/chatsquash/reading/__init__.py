"""Turn the lines of a log into entries.

This package unwraps envelopes, detects the format of requests and responses, expresses each request as edits of the
previous one, and parses replies. It also identifies files: a log, or a document that stores conversations. Joining
entries into conversations is the task of ``trees``; the formats themselves are in ``formats``.
"""
