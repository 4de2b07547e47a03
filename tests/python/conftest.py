"""What all tests rely on."""

import os
import signal

from hypothesis import settings

# A program that was started in the background of a shell ignores Ctrl-C, and so do its children.
# Some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a red run must come from a change. PENSTOCK_EXPLORE=1 draws new
# ones.
settings.register_profile("fixed", derandomize=True, database=None)
if not os.environ.get("PENSTOCK_EXPLORE"):
    settings.load_profile("fixed")
