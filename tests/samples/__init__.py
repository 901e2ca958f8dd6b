"""The samples of every source: each is taken by its own reader and by no other, and damage never breaks one."""
