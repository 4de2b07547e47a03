"""What all tests rely on."""

import os
import signal

from hypothesis import HealthCheck, settings

# A program that was started in the background of a shell ignores Ctrl-C, and so do its children.
# Some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a red run must come from a change. PENSTOCK_EXPLORE=1 draws new
# ones. And no limits of time: the machine may have other things to do.
timeless = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("new", timeless)
settings.register_profile("fixed", timeless, derandomize=True, database=None)
settings.load_profile("new" if os.environ.get("PENSTOCK_EXPLORE") else "fixed")
