"""Settings of the whole suite."""

import signal

from hypothesis import settings

# A test's time is the machine's affair: on a busy one the default of 200 ms an example fails now and then.
settings.register_profile("tilec", deadline=None)
settings.load_profile("tilec")

# A shell without job control starts what runs in its background with Ctrl-C ignored, and what that starts inherits it.
# Tests press Ctrl-C, and would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
