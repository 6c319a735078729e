"""The evidence that each rank writes for the provider to judge.

A folder for the attempt in Ray's own log folder, so that the head's log API lists and serves it; a
manifest with the rank's process and node; and NCCL's debug file beside it. Nothing here reads or
judges what NCCL writes.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raytrain_job.settings import Settings


@dataclass(frozen=True)
class Placement:
    """Where one rank runs, according to Ray."""

    rank: int
    world_size: int
    local_rank: int
    node: str
    node_ip: str
    # Number of earlier starts of this rank by Ray Train, from 0.
    train_attempt: int


def folder(logs: Path, submission_id: str) -> Path:
    """Return the attempt's folder below a node's log folder."""
    return logs / "raytrain" / submission_id


def open_folder(logs: Path, settings: Settings, placement: Placement) -> Path:
    """Create the attempt's folder and set NCCL_DEBUG_FILE to this rank's file in it.

    Call it before anything uses CUDA or NCCL: NCCL reads NCCL_DEBUG_FILE once, at its first line,
    and creates the file but not the folder.
    """
    directory = folder(logs, settings.identity.submission_id)
    directory.mkdir(parents=True, exist_ok=True)
    os.environ["NCCL_DEBUG_FILE"] = str(directory / nccl_file(placement.rank))
    return directory


def nccl_file(rank: int) -> str:
    """Return the name of a rank's NCCL file; the pid keeps a restarted rank from truncating it."""
    return f"rank{rank}.{host()}.{os.getpid()}.log"


def host() -> str:
    """Return the host name as NCCL prints it: up to the first dot."""
    return socket.gethostname().split(".", 1)[0]


def write_manifest(directory: Path, settings: Settings, placement: Placement) -> None:
    """Write rank<r>.json; a restarted rank replaces its own."""
    import torch

    write_json(
        directory / f"rank{placement.rank}.json",
        {
            "rank": placement.rank,
            "worldSize": placement.world_size,
            "localRank": placement.local_rank,
            "node": placement.node,
            "nodeIp": placement.node_ip,
            "host": host(),
            "pid": os.getpid(),
            "nonce": settings.identity.nonce,
            "submissionId": settings.identity.submission_id,
            "attempt": settings.identity.attempt,
            "trainAttempt": placement.train_attempt,
            "ncclFile": nccl_file(placement.rank),
            "ncclVersion": _nccl_version(),
            "torchVersion": torch.__version__.split("+", 1)[0],
            "device": settings.config.device,
        },
    )


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file atomically: a reader sees all of it or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def short(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without its lists, for a line of a log."""
    return {name: value for name, value in result.items() if not isinstance(value, list)}


class Progress:
    """Rank 0's progress.json, which shows how far the training is. It is not evidence."""

    # Reading the loss waits for the device, so it is done rarely.
    PAUSE_SECONDS = 5.0

    def __init__(self, directory: Path) -> None:
        self._path = directory / "progress.json"
        self._written = 0.0
        self._step = 0

    def due(self) -> bool:
        """Return whether the file is older than PAUSE_SECONDS."""
        return time.monotonic() - self._written >= self.PAUSE_SECONDS

    def write(self, step: int, steps: int, loss: float) -> None:
        """Replace the file; the speed is the mean since the last write, null in the first one."""
        now = time.monotonic()
        speed = None
        if self._written:
            speed = round((step - self._step) / (now - self._written), 4)
        self._written, self._step = now, step
        # JSON has no NaN.
        shown = round(loss, 4) if math.isfinite(loss) else None
        write_json(
            self._path, {"step": step, "steps": steps, "loss": shown, "stepsPerSecond": speed}
        )


def _nccl_version() -> str | None:
    """Return the NCCL version that torch was built with; this does not initialize NCCL."""
    from torch.cuda import nccl

    try:
        version = nccl.version()  # type: ignore[no-untyped-call]
    except (AttributeError, RuntimeError):
        return None
    return ".".join(str(part) for part in version[:3])
