"""The provenance of a dataset: for each message, the bytes of the log that it was made from, and the changes.

``origins`` runs in the processes that convert logs and adds the origins of a record's messages to its outcome;
``tables`` writes them, and ``statement`` signs the hashes of inputs and outputs.
"""
