"""Upload a dataset folder to the Hugging Face Hub.

``public`` selects the files, ``plan`` compares them with the Hub, ``push`` runs the command, and ``hub`` is the only
module that sends requests.
"""
