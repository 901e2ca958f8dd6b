"""Convert one session: from its log to records, findings and accounting.

Start with ``plan``, which lists the steps in order. ``converter`` runs them for a log. ``conversations`` and ``agents``
choose the conversations that become records, ``cleaning`` and ``stages`` contain the individual steps, ``join`` adds
agent files to a gateway log, and ``samples`` and ``pairs`` make samples and preference pairs.

Logs are read in ``chatsquash.reading``, trees of replies are built in ``chatsquash.trees``, and runs over many logs are
in ``chatsquash.conversion``.
"""
