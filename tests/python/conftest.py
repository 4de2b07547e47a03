"""What all tests rely on."""

import signal

# A program that was started in the background of a shell ignores Ctrl-C, and so do its children.
# Some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
