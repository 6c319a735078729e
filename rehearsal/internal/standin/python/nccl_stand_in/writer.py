"""Writes lines as NCCL's debug log does: prefix, level, subsystem mask, file."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from typing import TextIO

from nccl_stand_in import facts
from nccl_stand_in.defects import Defect

# The first line of every file. It is no record of NCCL's, so that no program
# takes it for evidence, and no reader takes the file for a real one.
BANNER = (
    "# Rehearsed: written by ray-train-efa's stand-in for NCCL. "
    "No GPU, no NCCL and no EFA device took part; this is no evidence about real hardware."
)

# NCCL's levels, in order. Each includes those before it.
_LEVELS = {"VERSION": 1, "WARN": 2, "INFO": 3, "ABORT": 4, "TRACE": 5}
# What INFO prints when NCCL_DEBUG_SUBSYS is not set (2.23.4 and later).
_DEFAULT_SUBSYSTEMS = frozenset({"INIT", "BOOTSTRAP", "ENV"})
VERSION = "2.29.7"
# The record in the middle of the set-up at which a defect damages the file.
DAMAGED_RECORD = 12
HUGE_BYTES = 100 << 20


class Writer:
    """The debug log of this process."""

    def __init__(
        self, environment: Mapping[str, str], device: int, defect: Defect | None = None
    ) -> None:
        self._defect = defect
        self._lines = 0
        self._level = _LEVELS.get(environment.get("NCCL_DEBUG", "").upper(), 0)
        self._mask = Mask(environment.get("NCCL_DEBUG_SUBSYS", ""))
        self._device = device
        self._lock = threading.Lock()
        self._stream = self._open(environment.get("NCCL_DEBUG_FILE", ""))

    def _open(self, path: str) -> TextIO | None:
        if self._level == 0:
            return None
        # NCCL ignores the file at level VERSION.
        if not path or self._level == _LEVELS["VERSION"]:
            return sys.stdout
        if self._defect is Defect.LOG_MISSING:
            return None
        self._path = expand(path)
        # Bytes of the defect LOG_NOT_UTF8 are written as surrogates.
        stream = open(  # noqa: SIM115 - kept for the process's life
            self._path, "w", buffering=1, encoding="utf-8", errors="surrogateescape"
        )
        stream.write(BANNER + "\n")
        if self._defect is Defect.LOG_HUGE:
            filler = f"{self._prefix()} NCCL INFO P2P Chunksize set to 131072\n"
            for _ in range(HUGE_BYTES // (1000 * len(filler))):
                stream.write(filler * 1000)
        return stream

    def info(self, subsystems: str, text: str) -> None:
        """Write an INFO line that belongs to subsystems such as "INIT|NET"."""
        if self._level >= _LEVELS["INFO"] and self._mask.allows(subsystems.split("|")):
            self._write(f"{self._prefix()} NCCL INFO {text}\n")

    def warn(self, origin: str, text: str) -> None:
        """Write a WARN line: an empty line first, and a time stamp, as NCCL does by default."""
        if self._level >= _LEVELS["WARN"]:
            stamp = time.strftime("[%Y-%m-%d %H:%M:%S]")
            self._write(f"\n{stamp} {self._prefix()} {origin} NCCL WARN {text}\n")

    def version(self) -> None:
        """Write NCCL's version: without a prefix below INFO."""
        text = f"NCCL version {VERSION}+cuda13.0"
        if self._level >= _LEVELS["INFO"]:
            self.info("INIT", text)
        elif self._level:
            self._write(text + "\n")

    def block(self, text: str) -> None:
        """Write lines that NCCL prints without a prefix, as part of an INFO record."""
        if self._level >= _LEVELS["INFO"]:
            self._write(text)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._stream is not None and self._stream is not sys.stdout:
            self._stream.close()

    def _prefix(self) -> str:
        return f"{facts.host()}:{os.getpid()}:{threading.get_native_id()} [{self._device}]"

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with self._lock:
                text = self._damaged(text)
                self._stream.write(text)
                self._stream.flush()

    def _damaged(self, text: str) -> str:
        """Return the part of a record that reaches the file."""
        self._lines += 1
        if self._defect is Defect.LOG_OF_EARLIER_RUN:
            return re.sub(r"commId 0x[0-9a-f]+", "commId 0xdead", text)
        if self._defect is Defect.NEVER_CONNECTED and "Connected all" in text:
            return ""
        if self._lines != DAMAGED_RECORD:
            truncated = self._defect is Defect.LOG_TRUNCATED and self._lines > DAMAGED_RECORD
            return "" if truncated else text
        if self._defect is Defect.LOG_TRUNCATED:
            return text[: len(text) // 2]
        if self._defect is Defect.LOG_NOT_UTF8:
            return "\udcff\udcfe\udc80\n" + text
        if self._defect is Defect.LOG_ROTATED:
            self.close()
            os.replace(self._path, self._path + ".1")
            self._stream = open(self._path, "w", buffering=1, encoding="utf-8")  # noqa: SIM115
            self._stream.write(BANNER + "\n")
        return text


class Mask:
    """NCCL_DEBUG_SUBSYS: a list of subsystems, or with ^ all but those."""

    def __init__(self, setting: str) -> None:
        self._inverted = setting.startswith("^")
        names = {name.strip().upper() for name in setting.removeprefix("^").split(",") if name.strip()}
        self._names = names or set(_DEFAULT_SUBSYSTEMS)

    def allows(self, subsystems: list[str]) -> bool:
        """Return whether a line of any of these subsystems is printed."""
        listed = "ALL" in self._names or any(name in self._names for name in subsystems)
        return listed != self._inverted


def expand(path: str) -> str:
    """Apply NCCL_DEBUG_FILE's %h, %p and %%; anything else stays."""
    replaced, rest = "", path
    while rest:
        head, percent, rest = rest.partition("%")
        replaced += head
        if percent:
            key, rest = rest[:1], rest[1:]
            replaced += {"h": facts.host(), "p": str(os.getpid()), "%": "%"}.get(key, "%" + key)
    return replaced
