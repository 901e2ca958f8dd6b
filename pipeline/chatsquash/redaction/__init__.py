"""Detect secrets and personal data, and replace them by placeholders; e-mail addresses get keyed pseudonyms.

Which kinds are detected is decided by the options (``requests``). Reporting what was replaced is not part of this
package.
"""
