"""The page that ``chatsquash report`` writes: figures, charts, findings and sessions in one file."""
