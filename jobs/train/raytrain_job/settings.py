"""The job's identity and configuration, checked at once.

Both come from the environment that the provider sets for the driver and every worker
(CONTRACT.md). A wrong value ends the job before it uses a GPU, with every problem in one message.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from raytrain_job.model import MODELS

# The provider checks the same patterns, before it submits the job.
_PATTERNS_JSON = Path(__file__).with_name("patterns.json").read_text(encoding="utf-8")
PATTERNS: dict[str, str] = json.loads(_PATTERNS_JSON)
DEVICES = ("cuda", "cpu")
STRATEGIES = ("fsdp2", "fsdp1", "ddp")


class SettingsError(ValueError):
    """All problems of the job's settings, one per line."""


@dataclass(frozen=True)
class Identity:
    """The identity of this attempt; it is copied into every manifest."""

    submission_id: str
    nonce: str
    attempt: int


def _integer(least: int, default: Any = MISSING) -> Any:
    # bool is an int in Python, and true is never a number here.
    def valid(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return field(
        default=default, metadata={"valid": valid, "wanted": f"a whole number of {least} or more"}
    )


def _positive() -> Any:
    def valid(value: Any) -> bool:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and 0 < value < math.inf

    return field(metadata={"valid": valid, "wanted": "a number above 0"})


def _choice(allowed: tuple[str, ...], default: Any = MISSING) -> Any:
    wanted = "one of " + ", ".join(allowed)
    return field(
        default=default, metadata={"valid": lambda value: value in allowed, "wanted": wanted}
    )


def _switch() -> Any:
    return field(
        default=False,
        metadata={"valid": lambda value: isinstance(value, bool), "wanted": "true or false"},
    )


def _text(pattern: str, wanted: str) -> Any:
    def valid(value: Any) -> bool:
        return value == "" or (isinstance(value, str) and re.fullmatch(pattern, value) is not None)

    return field(default="", metadata={"valid": valid, "wanted": wanted})


@dataclass(frozen=True, kw_only=True)
class Config:
    """RAYTRAIN_CONFIG: each field is a key of the JSON object, in camel case there."""

    model: str = _choice(tuple(MODELS))
    # One step warms up, one is measured.
    steps: int = _integer(2)
    batch_size: int = _integer(1)
    sequence_length: int = _integer(2)
    learning_rate: float = _positive()
    seed: int = _integer(0)
    device: str = _choice(DEVICES)
    wrap_min_parameters: int = _integer(1)
    max_failures: int = _integer(0)
    world_size: int = _integer(1)
    nodes: int = _integer(1)
    gpus_per_node: int = _integer(1)
    strategy: str = _choice(STRATEGIES, "fsdp2")
    gradient_checkpointing: bool = _switch()
    compile: bool = _switch()
    # Steps between two checkpoints; 0 saves none.
    checkpoint_every: int = _integer(0, 0)
    storage_path: str = _text(
        PATTERNS["storagePath"], "an absolute folder or a URI, such as s3://bucket/runs"
    )
    run_name: str = _text(PATTERNS["runName"], "1 to 63 characters of a-z, 0-9 and -")
    # The largest message of a sweep of all_reduce after the training; 0 for no sweep.
    all_reduce_mebibytes: int = _integer(0, 0)
    # The step after which the last rank kills itself, to measure a recovery; 0 for never.
    kill_at_step: int = _integer(0, 0)

    @property
    def warmup_steps(self) -> int:
        """Number of first steps that stepsPerSecond excludes: they connect and allocate."""
        return min(5, self.steps // 2)


@dataclass(frozen=True)
class Settings:
    """The settings in the environment."""

    identity: Identity
    config: Config
    # When the job ends itself; None for never.
    deadline_seconds: int | None = None


def load(environment: Mapping[str, str]) -> Settings:
    """Read the settings, or raise one SettingsError that names every problem."""
    problems: list[str] = []
    identity = _identity(environment, problems)
    config = _config(environment, problems)
    deadline = environment.get("RAYTRAIN_DEADLINE_SECONDS")
    if deadline is not None and not re.fullmatch(r"[1-9][0-9]*", deadline):
        problems.append(
            f"RAYTRAIN_DEADLINE_SECONDS is {deadline!r}: give a whole number of 1 or more"
        )
    if problems or identity is None or config is None:
        lines = "\n".join(f"  - {problem}" for problem in problems)
        raise SettingsError("the job's settings are invalid:\n" + lines)
    return Settings(identity, config, None if deadline is None else int(deadline))


def _identity(environment: Mapping[str, str], problems: list[str]) -> Identity | None:
    submission_id = environment.get("RAYTRAIN_SUBMISSION_ID", "")
    if not re.fullmatch(r"[a-z0-9-]{1,63}", submission_id):
        problems.append(
            f"RAYTRAIN_SUBMISSION_ID is {submission_id!r}: give 1 to 63 characters of a-z, 0-9 and -"
        )
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
    config = _decode(values, problems)
    if config is not None and config.world_size != config.nodes * config.gpus_per_node:
        problems.append(
            f"worldSize is {config.world_size}: give nodes x gpusPerNode = "
            f"{config.nodes * config.gpus_per_node}, one rank for each GPU"
        )
    if config is not None and config.kill_at_step and not _can_recover(config):
        problems.append(
            f"killAtStep is {config.kill_at_step}: give a step between checkpointEvery and steps, and "
            "maxFailures of 1 or more, so that the run continues at a checkpoint"
        )
    if config is not None and config.strategy == "fsdp1":
        # Without a GPU, Ray Train's FSDP1 raises; with one rank it silently does not shard.
        if config.device != "cuda":
            problems.append("strategy is 'fsdp1': it needs device cuda; on a CPU give fsdp2 or ddp")
        if config.world_size == 1:
            problems.append("strategy is 'fsdp1': it needs a worldSize of 2 or more")
    return config


def _can_recover(config: Config) -> bool:
    saved = 0 < config.checkpoint_every < config.kill_at_step
    return saved and config.kill_at_step < config.steps and config.max_failures > 0


def _decode(values: dict[str, Any], problems: list[str]) -> Config | None:
    """Return the Config, or None after adding every problem."""
    before = len(problems)
    arguments: dict[str, Any] = {}
    for item in fields(Config):
        first, *others = item.name.split("_")
        key = first + "".join(word.capitalize() for word in others)
        if key in values and item.metadata["valid"](values[key]):
            arguments[item.name] = values[key]
        elif key in values or item.default is MISSING:
            found = f"is {values[key]!r}" if key in values else "is missing"
            problems.append(f"RAYTRAIN_CONFIG.{key} {found}: give {item.metadata['wanted']}")
    return Config(**arguments) if len(problems) == before else None
