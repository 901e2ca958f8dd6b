"""Archives: content in chunks, chunks in packs, and snapshots that list files; see ``docs/how-to/archive.md``.

The layout follows those of restic and git: every object is written once, under a name that contains its hash.

- ``config``: the version, the id and, if the archive is encrypted, its sealed key
- ``packs/xx/HASH``: chunks, compressed in blocks, with a table of these at the end
- ``snapshots/GROUP/TIME-HASH``: the files of a machine at one time
- ``marks/TIME-HASH``: packs that a later ``prune`` deletes unless a snapshot needs them
"""
