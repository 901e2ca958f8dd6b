"""Join a gateway log with the files that the agent wrote for the same session.

``sessions`` determines which files belong together, in one pass over all logs. ``matching`` matches the replies on both
sides. ``views`` adds content that is only in the agent's files to the trees of the gateway session.
"""
