"""Discovery of session logs, and access to their bytes: folders, globs, archives, compression, exports and stores.

Parsing lines and detecting log formats are not part of this package; see ``formats`` and ``reading``.
"""
