"""Chat templates: rendered as transformers does, and tried for what they lose."""
