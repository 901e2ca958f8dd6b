"""Where logs lie, what they are compressed with, and their bytes."""
