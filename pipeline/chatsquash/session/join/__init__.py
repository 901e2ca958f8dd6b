"""Join a gateway's log of a session with the files that the agent itself wrote.

``sessions`` finds which files belong together in one pass over all logs. ``matching`` pairs the replies of both sides.
``views`` adds to the gateway's trees what only the agent's files contain.
"""
