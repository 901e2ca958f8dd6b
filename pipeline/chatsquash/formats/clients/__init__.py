"""The document formats of chat clients and libraries; each is a module or package."""
