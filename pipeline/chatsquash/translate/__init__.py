"""Converts conversations between formats and reports the losses.

``conversations`` is the API for single conversations (``load``, ``dump``, ``losses``); ``files`` translates files,
folders and streams.  The formats are in ``chatsquash.formats``; datasets are written by ``chatsquash.conversion``.
"""
