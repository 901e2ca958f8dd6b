"""Records in the shapes of trainers: writing them from conversations, and reading them from datasets.

Each shape is a module in ``presets``. Which conversations become records is decided in ``chatsquash.session``.
"""
