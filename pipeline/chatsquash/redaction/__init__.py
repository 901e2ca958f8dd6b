"""Detect secrets and personal data, and replace them with placeholders; e-mail addresses get keyed pseudonyms.

The options determine which kinds are detected (``requests``). Reporting what was replaced is not part of this package.
"""
