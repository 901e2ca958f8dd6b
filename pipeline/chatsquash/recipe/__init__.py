"""Certify that a trainer trains on the replies of a dataset, by running its own data path."""
