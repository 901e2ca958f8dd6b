"""Stands in for torchaudio, which LLaMA-Factory imports for sound and PyPI has for CUDA only."""
