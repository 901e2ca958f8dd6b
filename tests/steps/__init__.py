"""The facts about replies that messages show, measured on sessions with labels written by hand.

``planted`` has invented sessions in the forms of clients, with look-alikes; ``real.jsonl`` has labels of recordings and golden
cases. Labels follow the definitions in ``docs/conversations.md``; they were written without knowing the detectors.
``python -m tests.steps`` prints the measurement and each wrong reply.
"""
