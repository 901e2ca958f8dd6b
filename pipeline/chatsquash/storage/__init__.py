"""Access to files and object stores: output folders, locks, atomic commits, remote stores and confined processes.

Nothing here depends on the content of the files, except for the readers in ``confine``.
"""
