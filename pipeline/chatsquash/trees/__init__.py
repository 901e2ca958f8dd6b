"""Build the tree of a session from its logged replies.

This package decides which reply each request continues, the kinds and parents of conversations, which conversations
become records, where each reply ends up in the records and which messages are trained on. Records themselves are
written by ``session`` and ``records``.
"""
