"""Makes every process of a Ray job leave evidence, without any change to the job's code.

Ray calls setup() in each worker process of the job before any code of the job
(runtime_env.worker_process_setup_hook). Ranks are worker processes, or are started by one and
inherit its environment. Which ranks there are is not known here: NCCL's lines say it.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import traceback
from pathlib import Path
from typing import Any


def setup() -> None:
    """Send NCCL's output to a file of this process, and write this node's manifest.

    An error must not fail the job: without evidence the run is inconclusive, and the worker's
    output says why.
    """
    try:
        _setup()
    except Exception:  # noqa: BLE001
        sys.stderr.write("raytrain_evidence: this process leaves no evidence\n")
        traceback.print_exc()


def _setup() -> None:
    import ray

    submission_id = os.environ["RAYTRAIN_SUBMISSION_ID"]
    # Ray has no public call for it. Its type says None, which the worker's start replaces.
    ray_node: Any = ray._private.worker._global_node
    logs = Path(ray_node.get_logs_dir_path())
    directory = logs / "raytrain" / submission_id
    directory.mkdir(parents=True, exist_ok=True)
    # NCCL replaces %h and %p, creates the file but not the folder, and reads the variables once, at
    # its first line. A process that never uses NCCL leaves no file.
    os.environ["NCCL_DEBUG_FILE"] = f"{directory}/nccl.%h.%p.log"
    # The pod's environment may hide lines that the verdict needs.
    os.environ["NCCL_DEBUG"] = os.environ.get("RAYTRAIN_NCCL_DEBUG", "INFO")
    os.environ.pop("NCCL_DEBUG_SUBSYS", None)

    node = ray.get_runtime_context().get_node_id()
    _write_once(
        directory / f"node.{node}.json",
        {
            "submissionId": submission_id,
            "nonce": os.environ["RAYTRAIN_NONCE"],
            "node": node,
            "nodeIp": ray.util.get_node_ip_address(),  # type: ignore[no-untyped-call]
            "host": socket.gethostname().split(".", 1)[0],
        },
    )


def _write_once(path: Path, value: dict[str, str]) -> None:
    """Write a JSON file unless it exists; a reader sees all of it or none."""
    if path.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)
