"""What happens to one session; ``plan`` is the whole order."""
