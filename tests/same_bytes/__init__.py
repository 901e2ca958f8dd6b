"""Compare what ``chatsquash`` writes with what an earlier revision writes, byte for byte: ``make same-bytes BASE=...``.

A case is a few commands in a folder of its own. Each case runs once with the base revision and once with the working
tree, with the same Python, packages, inputs and relative paths. Exit codes, standard output, standard error and all
files (names, modes, bytes) have to be equal. ``compare.VARIABLE`` lists everything that is excluded from this, each
entry with its reason.

The inputs (sample logs, golden logs, generated logs, templates) come from ``inputs.REVISION`` and not from the working
tree. The outcomes of the base are cached in ``bench/.data/same-bytes`` or in the folder that ``SAME_BYTES_CACHE``
names, so that further runs only run the working tree. The cache is keyed by the revision and by hashes of each case
and of the inputs, among them the recorded exchanges in ``REAL_EXCHANGES``.

This package is a guard for changes of structure: neither the package nor the outcomes of the base are edited while such
a change is being made.
"""
