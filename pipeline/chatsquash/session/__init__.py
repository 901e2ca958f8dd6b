"""Convert one session: from its log to records, findings and accounting.

Start with ``plan``, which lists the steps in order. ``converter`` runs them for a log; ``conversations`` and ``agents``
choose the conversations that become records; ``cleaning`` and ``stages`` contain the individual steps; ``join`` adds
agents' files to a gateway's log; ``samples`` and ``pairs`` make samples and preference pairs.

Reading logs is in ``chatsquash.reading``, the trees of replies are in ``chatsquash.trees``, and runs over many logs are
in ``chatsquash.conversion``.
"""
