"""Defects of a job or its evidence that a rehearsal injects into the pods of its nodes."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The file in a node's folder that holds the name of the current defect; absent for none.
FILE = Path("run/raytrain-rehearsal/defect")


class Defect(enum.Enum):
    """One defect. Unless its text says otherwise, it is the last rank's."""

    NO_PLUGIN = "no-plugin"  # on every rank
    NO_PLUGIN_ON_ONE_RANK = "no-plugin-on-one-rank"
    NO_PLUGIN_ON_ONE_NODE = "no-plugin-on-one-node"
    PROVIDER_TCP = "provider-tcp"  # on every rank: the script sets FI_PROVIDER
    WRONG_INTERFACE = "wrong-interface"  # on every rank: the script sets NCCL_SOCKET_IFNAME
    SOCKET_CHANNEL = "socket-channel"  # on every rank: one of the channels uses sockets
    CRASH = "crash"  # on every rank
    RANK_KILLED = "rank-killed"
    HANG = "hang"  # on every rank: the first collective never ends
    SILENT = "silent"  # on every rank: the script never reaches NCCL
    NEVER_CONNECTED = "never-connected"  # the line about the connection is missing
    LOG_MISSING = "log-missing"
    LOG_TRUNCATED = "log-truncated"
    LOG_ROTATED = "log-rotated"
    LOG_OF_EARLIER_RUN = "log-of-earlier-run"
    LOG_HUGE = "log-huge"
    LOG_NOT_UTF8 = "log-not-utf8"
    MANIFEST_OF_EARLIER_RUN = "manifest-of-earlier-run"
    MANIFEST_OF_OTHER_RANK = "manifest-of-other-rank"
    MANIFEST_NAMES_OTHER_LOG = "manifest-names-other-log"
    OLD_DRIVER = "old-driver"  # read by nvidia-smi
    NO_FABRIC = "no-fabric"  # read by fi_info


def read(environment: Mapping[str, str]) -> Defect | None:
    """Return the current defect of this node."""
    path = Path(environment.get("RAYTRAIN_REHEARSAL_ROOT", "/"), FILE)
    try:
        return Defect(path.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return None


# What the script itself sets, against the program's environment.
_OVERRIDES = {
    Defect.PROVIDER_TCP: {"FI_PROVIDER": "tcp"},
    Defect.WRONG_INTERFACE: {"NCCL_SOCKET_IFNAME": "ens5"},
}


def overrides(defect: Defect | None) -> dict[str, str]:
    """Return the variables that the defect sets."""
    return _OVERRIDES.get(defect, {}) if defect else {}


def lacks_plugin(defect: Defect | None, rank: int, size: int) -> bool:
    """Return whether the plugin is missing on a rank of the world."""
    first = {
        Defect.NO_PLUGIN: 0,
        Defect.NO_PLUGIN_ON_ONE_NODE: size // 2,
        Defect.NO_PLUGIN_ON_ONE_RANK: size - 1,
    }
    return defect in first and rank >= first[defect]


# What a manifest says instead of the truth.
_LIES: dict[Defect, dict[str, Any]] = {
    Defect.MANIFEST_OF_EARLIER_RUN: {"nonce": "00000000000000000000000000000000"},
    Defect.MANIFEST_OF_OTHER_RANK: {"rank": 0},
}


def falsify_manifest(defect: Defect | None, debug_file: str, rank: int, other_log: str) -> None:
    """Change the manifest next to a rank's NCCL file, if the defect is one of the manifest."""
    path = Path(debug_file).with_name(f"rank{rank}.json")
    if defect is Defect.MANIFEST_NAMES_OTHER_LOG:
        lie: dict[str, Any] = {"ncclFile": other_log}
    elif defect in _LIES:
        lie = _LIES[defect]
    else:
        return
    manifest = json.loads(path.read_text(encoding="utf-8"))
    temporary = path.with_name(f".{path.name}.lie")
    temporary.write_text(json.dumps({**manifest, **lie}), encoding="utf-8")
    temporary.replace(path)
