"""Run work that may take unlimited time or memory in a separate process that can be killed.

Neither a signal handler nor a callback ends a single long call into C, so such work cannot be done safely in this
process. ``process`` is the calling side and ``inside`` the confined side; they exchange only bytes. Both load in
milliseconds.
"""
