"""A deadline that the job enforces itself, for when no provider is left to stop it."""

from __future__ import annotations

import os
import sys
import threading

# The exit status of timeout(1).
EXIT_STATUS = 124


def start(seconds: float) -> None:
    """End this process after that many seconds; Ray then ends its workers.

    A daemon thread, so that it does not delay a job that ends earlier. The process ends without
    cleaning up, because training that hangs may not let it.
    """
    timer = threading.Timer(seconds, _end, [seconds])
    timer.daemon = True
    timer.start()


def _end(seconds: float) -> None:
    sys.stderr.write(f"raytrain_job: ended at its own deadline of {seconds:.0f} s\n")
    sys.stderr.flush()
    os._exit(EXIT_STATUS)
