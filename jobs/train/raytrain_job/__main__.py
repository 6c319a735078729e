"""Entry point: `python -m raytrain_job` on the head of a Ray cluster."""

from __future__ import annotations

import os
import sys

from raytrain_job import watchdog
from raytrain_job.driver import ClusterError, drive, result_line
from raytrain_job.settings import SettingsError, load


def main() -> int:
    """Run the job; 0 when every step ran on every rank."""
    try:
        settings = load(os.environ)
        if settings.deadline_seconds is not None:
            watchdog.start(settings.deadline_seconds)
        result = drive(settings)
    except (SettingsError, ClusterError) as error:
        print(f"raytrain_job: {error}", file=sys.stderr, flush=True)
        return 1
    print(result_line(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
