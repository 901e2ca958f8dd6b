"""Redacts existing datasets: secrets and personal data are replaced by placeholders."""
