"""Python looks for this module when it starts: sessions of a name end the process that converts them."""

import os
import signal

from chatsquash.session.converter import Converter

convert = Converter.convert


def killed(self, log, *args, **kwargs):
    if "killer" in log.shown:
        os.kill(os.getpid(), signal.SIGKILL)
    return convert(self, log, *args, **kwargs)


Converter.convert = killed
