"""Starts ranks as processes, each on its own rehearsed node."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RANKS = 8
# NCCL_HOSTID makes nodes of one machine, as it does for NCCL itself.
ENVIRONMENT = {
    "FI_PROVIDER": "efa",
    "NCCL_DEBUG": "INFO",
    "NCCL_NET": "Libfabric",
    "NCCL_NET_PLUGIN": "ofi",
    "NCCL_SOCKET_IFNAME": "lo",
    "RAYTRAIN_REHEARSAL": "1",
    "RAYTRAIN_REHEARSAL_PLUGIN": "1",
}
FABRIC = {
    "rehearsed": True,
    "node": "node",
    "zone": "us-east-2a",
    "subnetId": "subnet-1",
    "efaInterfaces": 1,
    "deviceBroken": False,
    "securityGroups": [{"id": "sg-own", "name": "own", "selfIngress": True, "selfEgress": True}],
}


class Cluster:
    """Two nodes of four ranks each, in a folder."""

    def __init__(self, folder: Path, environment: dict[str, str | None], fabric: dict[str, Any], device: bool = True,
                 defect: str = "") -> None:
        self._defect = defect
        self.logs = folder / "logs"
        self.logs.mkdir()
        self._folder = folder
        self._environment = {**ENVIRONMENT, **environment}
        self._device = device
        self._fabric = {**FABRIC, **fabric}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the ranks of ranks.py."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("NCCL_", "FI_", "RAYTRAIN_"))}
        environment |= {key: value for key, value in self._environment.items() if value is not None}
        environment |= {"PYTHONPATH": str(HERE.parent / "python"), "GLOO_SOCKET_IFNAME": "lo"}
        ranks = self._folder / "ranks.json"
        ranks.write_text(json.dumps(self._ranks()), encoding="utf-8")
        with open(self._folder / "launcher", "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "ranks.py"), str(ranks)], env=environment, stdout=output, stderr=output, start_new_session=True
            )

    def _ranks(self) -> list[dict[str, Any]]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return [
            {
                "output": str(self._output(rank)),
                "environment": {
                    "RANK": str(rank),
                    "WORLD_SIZE": str(RANKS),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": str(port),
                    "NCCL_DEBUG_FILE": str(self.logs / f"rank{rank}.%h.%p.log"),
                    "NCCL_HOSTID": f"node-{rank // 4}",
                    "RAYTRAIN_REHEARSAL_ROOT": str(self._node(rank // 4)),
                },
            }
            for rank in range(RANKS)
        ]

    def _node(self, number: int) -> Path:
        root = self._folder / f"node-{number}"
        if not root.exists():
            facts = root / "run/raytrain-rehearsal/node-facts.json"
            facts.parent.mkdir(parents=True)
            facts.write_text(json.dumps({**self._fabric, "node": f"node-{number}"}), encoding="utf-8")
            if self._defect:
                facts.with_name("defect").write_text(self._defect + "\n", encoding="utf-8")
            if self._device:
                device = root / "dev/infiniband/uverbs0"
                device.parent.mkdir(parents=True)
                device.touch()
        return root

    def _output(self, rank: int) -> Path:
        return self._folder / f"output{rank}"

    def ended(self) -> dict[int, int]:
        """Exit statuses of the ranks that have ended."""
        statuses = {}
        for rank in range(RANKS):
            path = self._output(rank).with_name(f"output{rank}.status")
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            if text:
                statuses[rank] = int(text)
        return statuses

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until condition holds; False when it does not in time, or cannot any more."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            over = self._process is None or self._process.poll() is not None
            if condition():
                return True
            if over:
                return False
            time.sleep(0.1)
        return False

    def kill(self) -> None:
        """End whatever is left: the launcher leads a session of its own."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait()

    def log(self, rank: int) -> str:
        """A rank's NCCL file; "" while there is none."""
        return "".join(path.read_text(encoding="utf-8") for path in self.logs.glob(f"rank{rank}.*.log"))

    def output(self, rank: int) -> str:
        """What a rank printed, or the launcher when the rank never began."""
        path = self._output(rank) if self._output(rank).exists() else self._folder / "launcher"
        return path.read_text(encoding="utf-8", errors="replace")


def temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for one cluster."""
    return tempfile.TemporaryDirectory(prefix="nccl-stand-in-")
