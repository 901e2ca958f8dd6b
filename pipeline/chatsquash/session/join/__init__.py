"""Two views of one session: what a gateway logged of it, and the files that the agent itself kept.

``sessions`` finds which belong together in one pass over all logs; ``views`` adds to the trees of a gateway's session
what the agent's files tell beyond it.
"""
