"""The providers' exchange formats; each is a module or package."""
