"""Records in the shapes of trainers: writes them from conversations, and reads them from datasets.

Each shape is a module in ``presets``.  Which conversations become records is decided in ``chatsquash.session``.
"""
