"""The driver on the head: check the cluster, start one worker for each GPU, print the result."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from raytrain_job import evidence
from raytrain_job.settings import Config, Settings
from raytrain_job.worker import train

# The provider submits only to a cluster whose nodes have joined. This waits for the last node's
# resources to reach the head, which takes one heartbeat.
CLUSTER_WAIT_SECONDS = 60.0
# Placement is checked before, so a worker group that does not start within Ray's 60 s will not
# start at all. Without a limit Ray retries forever.
CONTROLLER_FAILURE_LIMIT = 0
# The folder of Ray Train's reports when no other is set. Checkpoints that must survive a node need
# one that all nodes share.
STORAGE = "/tmp/raytrain-storage"


class ClusterError(RuntimeError):
    """The Ray cluster cannot run the job."""


class Starts:
    """Keeps what a restarted rank must know of the attempts before it; an actor next to the driver.

    Ray Train gives a worker neither the number of earlier attempts of the same run nor their
    progress.
    """

    def __init__(self) -> None:
        self._starts: dict[int, int] = {}
        self._first = time.time()
        self._steps = 0
        self._reached_at = self._first

    def next(self, rank: int) -> int:
        """Return the number of earlier starts of this rank."""
        earlier = self._starts.get(rank, 0)
        self._starts[rank] = earlier + 1
        if rank == 0 and earlier == 0:
            self._first = time.time()
        return earlier

    def reach(self, steps: int) -> None:
        """Record that rank 0 has finished that many steps."""
        self._steps, self._reached_at = steps, time.time()

    def history(self) -> dict[str, float]:
        """Return when the first attempt started, and how far the attempts came."""
        return {"firstStart": self._first, "steps": self._steps, "reachedAt": self._reached_at}


def drive(settings: Settings) -> dict[str, Any]:
    """Run the job on the cluster that the driver is part of; return rank 0's result."""
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    config = settings.config
    ray.init(address="auto", log_to_driver=True)
    wait_for_cluster(config, ray.nodes)
    starts = ray.remote(num_cpus=0)(Starts).remote()
    trainer = TorchTrainer(
        train,  # type: ignore[arg-type]  # these are the types of Ray Train before version 2
        train_loop_config={"starts": starts},
        # gloo without GPUs. use_gpu is also set there: nodes of a rehearsal declare GPUs to Ray,
        # and Ray Train accepts GPUs as a worker's resources only with it, which spreads the ranks.
        torch_config=TorchConfig(backend="nccl" if config.device == "cuda" else "gloo"),
        # A fixed number: with a range the run may start with fewer ranks.
        scaling_config=ScalingConfig(
            num_workers=config.world_size,
            use_gpu=True,
            resources_per_worker={"GPU": 1},
            # On one node only, also when others have GPUs; otherwise on all of them.
            placement_strategy="STRICT_PACK" if config.nodes == 1 else "SPREAD",
        ),
        run_config=RunConfig(
            # A run of the same name in the same storage continues at its last checkpoint.
            name=config.run_name or settings.identity.submission_id,
            storage_path=config.storage_path or STORAGE,
            failure_config=FailureConfig(  # type: ignore[call-arg]
                max_failures=config.max_failures, controller_failure_limit=CONTROLLER_FAILURE_LIMIT
            ),
        ),
    )
    result: Any = trainer.fit()
    if not isinstance(result.return_value, dict):
        raise TypeError(f"training returned {result.return_value!r} instead of rank 0's result")
    return result.return_value


def wait_for_cluster(
    config: Config,
    nodes: Callable[[], Sequence[dict[str, Any]]],
    wait: float = CLUSTER_WAIT_SECONDS,
) -> None:
    """Return once enough nodes offer their GPUs; raise ClusterError after wait seconds."""
    deadline = time.monotonic() + wait
    while True:
        problem = missing_gpus(config, nodes())
        if problem is None:
            return
        if time.monotonic() >= deadline:
            raise ClusterError(problem)
        time.sleep(1)


def missing_gpus(config: Config, nodes: Sequence[dict[str, Any]]) -> str | None:
    """Return what the cluster lacks, or None when it has exactly the required nodes and GPUs.

    A run on one node needs only one that is large enough: Ray places all ranks on it.
    """
    gpus = [int(node.get("Resources", {}).get("GPU", 0)) for node in nodes if node.get("Alive")]
    holders = sorted((count for count in gpus if count > 0), reverse=True)
    if len(holders) == config.nodes and set(holders) == {config.gpus_per_node}:
        return None
    if config.nodes == 1 and holders and holders[0] >= config.gpus_per_node:
        return None
    return (
        f"the Ray cluster has {len(holders)} nodes with GPUs ({holders}); required: {config.nodes} "
        f"nodes with {config.gpus_per_node} each: "
        "look at kubectl get pods for workers that are not ready"
    )


def result_line(result: dict[str, Any]) -> str:
    """Return the driver's last line, which the provider shows."""
    return "RAYTRAIN_RESULT " + json.dumps(evidence.short(result))
