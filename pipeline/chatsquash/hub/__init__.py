"""A dataset folder to the Hugging Face Hub: what may leave, what is there already, and one commit."""
