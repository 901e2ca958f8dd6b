"""What the logged replies of a session continue, and what becomes of each."""
