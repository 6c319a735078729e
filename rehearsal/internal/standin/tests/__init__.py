"""Tests of the NCCL stand-in."""
