"""Redact existing datasets: secrets and personal data are replaced with placeholders."""
