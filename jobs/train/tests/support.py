"""Settings for the tests."""

from __future__ import annotations

import json
from typing import Any

from raytrain_job.settings import Config, load

CONFIG: dict[str, Any] = {
    "model": "tiny",
    "steps": 10,
    "batchSize": 2,
    "sequenceLength": 32,
    "learningRate": 0.01,
    "seed": 7,
    "device": "cpu",
    "wrapMinParameters": 10_000,
    "maxFailures": 0,
    "worldSize": 8,
    "nodes": 2,
    "gpusPerNode": 4,
}


def environment(**changes: Any) -> dict[str, str]:
    """A job's environment with changes of RAYTRAIN_CONFIG; None leaves a key out."""
    values = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    return {
        "RAYTRAIN_SUBMISSION_ID": "job-a1",
        "RAYTRAIN_NONCE": "00ff",
        "RAYTRAIN_ATTEMPT": "1",
        "RAYTRAIN_CONFIG": json.dumps(values),
    }


def config(**changes: Any) -> Config:
    """A configuration with changes."""
    return load(environment(**changes)).config
