"""Access to files and object stores: output folders, locks, atomic commits, remote stores and confined processes.

Nothing here knows what the files contain, except for the readers in ``confine``.
"""
