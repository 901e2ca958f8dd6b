"""Sessions that are played by chance, logged as clients and proxies log them, with what is true of them."""

from tests.simulator.play import Played, play

__all__ = ["Played", "play"]
