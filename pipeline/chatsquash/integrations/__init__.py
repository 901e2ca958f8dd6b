"""Chatsquash inside other libraries, one module per library; none is imported by the rest of the package."""
