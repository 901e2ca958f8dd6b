"""Work on what may take all time or all memory, in a process of its own that can be killed.

A signal handler or a callback does not end a single long call into C, so what is hostile to that degree is not worked
on in this process.  ``process`` is this side, ``inside`` the other one; only bytes cross.  Both load in milliseconds.
"""
