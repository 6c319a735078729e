"""The arithmetic of what rank 0 measures."""

from __future__ import annotations

import unittest
from unittest import mock

import torch

from raytrain_job.driver import Starts
from raytrain_job.metrics import StepClock, flops_per_token, peak_flops, split
from raytrain_job.model import MODELS
from raytrain_job.worker import _recovery


class SplitTest(unittest.TestCase):
    def test_overlap_counts_once(self) -> None:
        kernels = [
            ("gemm", 0.0, 2.0),
            ("gemm", 1.0, 3.0),  # on another stream
            ("ncclDevKernel_AllGather", 2.0, 5.0),  # one second hidden, two exposed
            ("gemm", 6.0, 7.0),
        ]
        want = {
            "computeSeconds": 4.0,
            "communicationSeconds": 3.0,
            "exposedCommunicationSeconds": 2.0,
        }
        self.assertEqual(want, split(kernels))
        self.assertEqual(want, split(reversed(kernels)))

    def test_nothing_recorded(self) -> None:
        self.assertIsNone(split([]))


class StepClockTest(unittest.TestCase):
    def test_leaves_out_what_is_skipped(self) -> None:
        clock = StepClock(torch.device("cpu"))
        with mock.patch("time.perf_counter", side_effect=[10.0, 11.0, 41.0, 43.0]):
            clock.mark()
            clock.mark()
            clock.skip()  # 30 seconds for a checkpoint
            clock.mark()
        self.assertEqual([1.0, 2.0], clock.seconds())


class DeviceTest(unittest.TestCase):
    def test_peaks(self) -> None:
        for name, want in (
            ("NVIDIA L4", 121e12),
            ("NVIDIA L40S", 362e12),
            ("NVIDIA H100 80GB HBM3", 989e12),
            ("NVIDIA A100-SXM4-80GB", 312e12),
            ("NVIDIA H100 PCIe", 756e12),
            ("NVIDIA H200", 989e12),
            ("NVIDIA H200 NVL", 835e12),
            ("NVIDIA H100", None),  # which variant is not known
            ("Tesla T4", None),
        ):
            with self.subTest(name):
                self.assertEqual(want, peak_flops(name))

    def test_flops(self) -> None:
        size = MODELS["Qwen/Qwen2.5-1.5B"]
        self.assertEqual(6 * 1_543_714_304 + 12 * 28 * 1536 * 1024, flops_per_token(size, 1024))


class RecoveryTest(unittest.TestCase):
    def test_first_attempt_lost_nothing(self) -> None:
        got = _recovery(Starts().history(), 0, None, 10, 1.0)
        self.assertEqual((0, None), (got["lostSteps"], got["secondsToRecover"]))

    def test_restart(self) -> None:
        starts = Starts()
        starts.next(0)
        starts.reach(9)
        history = starts.history()
        got = _recovery(history, 6, history["reachedAt"] + 4, 10, 0.0)
        self.assertEqual((3, 4.0, 0.0), (got["lostSteps"], got["secondsToRecover"], got["goodput"]))
