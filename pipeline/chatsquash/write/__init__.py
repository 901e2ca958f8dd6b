"""Records to files, each of them whole at any instant."""
