"""Only one set-up at a time in one checkout."""

import fcntl
import os
from pathlib import Path
from types import TracebackType

from diffbot_bringup.workspace.progress import say


class CheckoutLock:
    """A lock on a file, held by this process and the children that inherit its descriptor.

    The children hold it too, so that a pip that outlives a killed ./diffbot is waited for and two
    of them never write into one environment. The kernel frees it when the last holder ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1

    def __enter__(self) -> "CheckoutLock":
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another diffbot is setting up this checkout; waiting for it ...")
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.descriptor)
        self.descriptor = -1
