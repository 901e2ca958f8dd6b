"""Datasets that exist already, with placeholders in the place of what is private in them."""
