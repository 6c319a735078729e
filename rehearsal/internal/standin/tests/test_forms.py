"""Every line that the stand-in writes as NCCL has a format that is in NCCL itself.

torch's wheel contains the version that the stand-in emulates, so its library is
the authority: a line whose form is not among the library's strings is a mistake.
"""

from __future__ import annotations

import re
import unittest
from importlib.metadata import files
from pathlib import Path

from nccl_stand_in.decision import decide
from nccl_stand_in.facts import Facts
from nccl_stand_in.lines import Communicator, Process
from nccl_stand_in.writer import VERSION, Writer
from tests.support import PINNED, fabric, rank, two_nodes, unpinned

# What a line may hold where the format has a conversion.
_CONVERSIONS = {"d": r"-?\d+", "u": r"\d+", "x": r"[0-9a-f]+", "p": r"0x[0-9a-f]+", "f": r"\d+\.\d+", "s": r".*", "c": "."}
_CONVERSION = re.compile(r"%(?:[-+ 0#]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z|t)?([duxpfsc])")


def library() -> Path:
    """The NCCL library that torch uses."""
    for name in ("nvidia-nccl-cu13", "nvidia-nccl-cu12"):
        try:
            found = [path for path in files(name) or () if path.name.startswith("libnccl.so")]
        except ModuleNotFoundError:
            continue
        if found:
            return Path(str(found[0].locate()))
    raise AssertionError("torch's NCCL library is not installed")


def formats(data: bytes) -> list[re.Pattern[str]]:
    """The library's strings as patterns of whole lines."""
    patterns = []
    for match in re.finditer(rb"[\x20-\x7e]{6,400}(?=[\n\x00])", data):
        text = match.group().decode("ascii")
        pattern, last = "", 0
        for conversion in _CONVERSION.finditer(text):
            pattern += re.escape(text[last : conversion.start()]) + _CONVERSIONS[conversion.group(1)]
            last = conversion.end()
        # A string of conversions alone would match everything.
        if len(re.sub(_CONVERSION, "", text)) >= 5:
            patterns.append(re.compile(pattern + re.escape(text[last:])))
    return patterns


class Recorder(Writer):
    """Keeps the messages instead of writing them."""

    def __init__(self) -> None:
        super().__init__({}, 0)
        self.messages: list[str] = []

    def info(self, subsystems: str, text: str) -> None:
        self.messages.append(text)

    def warn(self, origin: str, text: str) -> None:
        self.messages.append(text)


def messages(ranks: list[Facts]) -> set[str]:
    """All that the first rank of each node writes."""
    recorder = Recorder()
    choices, _ = decide(ranks)
    for number in (0, len(ranks) - 1):
        process = Process(recorder)
        process.start(ranks[number], choices[number])
        if choices[number].interface is None:
            continue
        process.network(ranks[number], choices[number])
        if choices[number].network is None:
            continue
        communicator = Communicator(recorder, ranks, choices, number)
        communicator.start()
        communicator.complete()
        communicator.rings()
        communicator.rings_connected()
        communicator.trees()
        communicator.flood(ranks[0], 4000)
        communicator.destroyed()
    return set(recorder.messages)


class FormsTest(unittest.TestCase):
    def test_forms(self) -> None:
        data = library().read_bytes()
        self.assertIn(f"NCCL version {VERSION}".encode().split(b" ")[-1], data)
        known = formats(data)
        written: set[str] = set()
        for ranks in (
            two_nodes(),
            two_nodes(unpinned(), has_plugin=False),
            two_nodes(has_plugin=False),
            two_nodes(fabric=fabric(device_broken=True)),
            two_nodes({**PINNED, "NCCL_SOCKET_IFNAME": "ens5"}),
            [rank(number, "same", {**PINNED, "NCCL_HOSTID": f"host-{number}"}) for number in range(2)],
        ):
            written |= messages(ranks)
        # The plugin's own lines are aws-ofi-nccl's; that library is not part of torch.
        own = {text for text in written if not text.startswith("NET/OFI ")}
        # NCCL puts the ring's line together from pieces: its head, then the ranks.
        own = {re.sub(r"^(Channel \d+/\d+ :)( \d+)+$", r"\1", text) for text in own}
        self.assertGreater(len(own), 30)
        strange = sorted(text for text in own if not any(pattern.fullmatch(text) for pattern in known))
        self.assertEqual([], strange)
