"""The two ways in which ./diffbot refuses to go on."""


class SetupError(Exception):
    """The set-up cannot go on; the message is one line that says what to do (exit status 1)."""


class UsageError(Exception):
    """The command line is wrong; the message lists what is right (exit status 2)."""
