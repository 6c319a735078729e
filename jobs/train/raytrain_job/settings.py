"""What the job is told: its identity and its configuration, checked at once.

Everything comes from the environment that the provider sets for the driver and
every worker (CONTRACT.md). A wrong value ends the job before it takes a GPU,
with every problem in one message.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from raytrain_job.model import MODELS

DEVICES = ("cuda", "cpu")


class SettingsError(ValueError):
    """Every problem of the job's settings, one a line."""


@dataclass(frozen=True)
class Identity:
    """Which attempt this is; copied into every piece of evidence."""

    submission_id: str
    nonce: str
    attempt: int


@dataclass(frozen=True)
class Config:
    """The content of RAYTRAIN_CONFIG, with Python's names."""

    model: str
    steps: int
    batch_size: int
    sequence_length: int
    learning_rate: float
    seed: int
    device: str
    wrap_min_parameters: int
    max_failures: int
    world_size: int
    nodes: int
    gpus_per_node: int

    @property
    def warmup_steps(self) -> int:
        """Steps that the speed leaves out: the first ones connect and allocate."""
        return min(5, self.steps // 2)


@dataclass(frozen=True)
class Settings:
    """All that the environment tells."""

    identity: Identity
    config: Config


def load(environment: Mapping[str, str]) -> Settings:
    """Read the settings, or raise one SettingsError that names every problem."""
    problems: list[str] = []
    identity = _identity(environment, problems)
    config = _config(environment, problems)
    if problems or identity is None or config is None:
        raise SettingsError("the job's settings are wrong:\n" + "\n".join(f"  - {problem}" for problem in problems))
    return Settings(identity, config)


def _identity(environment: Mapping[str, str], problems: list[str]) -> Identity | None:
    submission_id = environment.get("RAYTRAIN_SUBMISSION_ID", "")
    if not re.fullmatch(r"[a-z0-9-]{1,63}", submission_id):
        problems.append(f"RAYTRAIN_SUBMISSION_ID is {submission_id!r}: give 1 to 63 characters of a-z, 0-9 and -")
    nonce = environment.get("RAYTRAIN_NONCE", "")
    if not re.fullmatch(r"[0-9a-f]+", nonce):
        problems.append(f"RAYTRAIN_NONCE is {nonce!r}: give hexadecimal digits")
    attempt = environment.get("RAYTRAIN_ATTEMPT", "")
    if not re.fullmatch(r"[1-9][0-9]*", attempt):
        problems.append(f"RAYTRAIN_ATTEMPT is {attempt!r}: give a whole number of 1 or more")
        return None
    return Identity(submission_id, nonce, int(attempt))


def _config(environment: Mapping[str, str], problems: list[str]) -> Config | None:
    text = environment.get("RAYTRAIN_CONFIG")
    if text is None:
        problems.append("RAYTRAIN_CONFIG is not set: give the job's configuration as JSON")
        return None
    try:
        values = json.loads(text)
    except ValueError as error:
        problems.append(f"RAYTRAIN_CONFIG is not JSON: {error}")
        return None
    if not isinstance(values, dict):
        problems.append(f"RAYTRAIN_CONFIG is {type(values).__name__}: give a JSON object")
        return None
    before = len(problems)
    reader = _Reader(values, problems)
    config = Config(
        model=reader.choice("model", tuple(MODELS)),
        # Two steps at least: one warms up, one is measured.
        steps=reader.integer("steps", 2),
        batch_size=reader.integer("batchSize", 1),
        sequence_length=reader.integer("sequenceLength", 2),
        learning_rate=reader.positive("learningRate"),
        seed=reader.integer("seed", 0),
        device=reader.choice("device", DEVICES),
        wrap_min_parameters=reader.integer("wrapMinParameters", 1),
        max_failures=reader.integer("maxFailures", 0),
        world_size=reader.integer("worldSize", 1),
        nodes=reader.integer("nodes", 1),
        gpus_per_node=reader.integer("gpusPerNode", 1),
    )
    if len(problems) == before and config.world_size != config.nodes * config.gpus_per_node:
        problems.append(
            f"worldSize is {config.world_size}: give nodes x gpusPerNode = {config.nodes * config.gpus_per_node}, "
            "one rank for each GPU"
        )
    return config


class _Reader:
    """Takes typed values out of a JSON object and notes what is wrong with them."""

    def __init__(self, values: dict[str, Any], problems: list[str]) -> None:
        self._values = values
        self._problems = problems

    def integer(self, key: str, least: int) -> int:
        value = self._values.get(key)
        # bool is an int in Python, and "true" is never a number here.
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._refuse(key, f"a whole number of {least} or more")
            return least
        return value

    def positive(self, key: str) -> float:
        value = self._values.get(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
            self._refuse(key, "a number above 0")
            return 1.0
        return float(value)

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self._values.get(key)
        if value not in allowed:
            self._refuse(key, "one of " + ", ".join(allowed))
            return allowed[0]
        return str(value)

    def _refuse(self, key: str, want: str) -> None:
        said = f"is {self._values[key]!r}" if key in self._values else "is missing"
        self._problems.append(f"RAYTRAIN_CONFIG.{key} {said}: give {want}")
