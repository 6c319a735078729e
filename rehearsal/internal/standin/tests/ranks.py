"""Eight ranks of a small real run over gloo, as a program that does not use the stand-in itself.

Run by cluster.py with the environment of a rehearsed image. torch is imported
once, then each rank is forked from here with the environment of its own: eight
imports would take most of a test's time.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import traceback

import torch
import torch.distributed as distributed


def run() -> int:
    """What every rank does."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method="env://")
    names: list[str] = [""] * distributed.get_world_size()
    distributed.all_gather_object(names, os.environ["RANK"])
    total = torch.ones(())
    distributed.all_reduce(total)
    pair = distributed.new_group([0, 4])
    if distributed.get_rank() in (0, 4):
        distributed.broadcast(total, src=0, group=pair)
    distributed.barrier()
    distributed.destroy_process_group()
    return 0 if total.item() == len(names) and names == [str(number) for number in range(len(names))] else 3


def child(environment: dict[str, str], output: str) -> int:
    """Become one rank."""
    os.environ.update(environment)
    # These processes share a host name and an address. Pods on two nodes do not, and the judge
    # requires two hosts.
    host = environment["NCCL_HOSTID"]
    resolve = socket.gethostbyname
    socket.gethostname = lambda: host
    socket.gethostbyname = lambda name: f"10.0.{host.removeprefix('node-')}.1" if name == host else resolve(name)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    try:
        return run()
    except Exception:
        traceback.print_exc()
        return 1


def main() -> int:
    """Fork the ranks named in the first argument's file; note each one's exit status beside its output."""
    ranks = json.loads(open(sys.argv[1], encoding="utf-8").read())
    pids = {}
    for rank in ranks:
        pid = os.fork()
        if pid == 0:
            os._exit(child(rank["environment"], rank["output"]))
        pids[pid] = rank["output"]
    for _ in ranks:
        pid, status = os.wait()
        with open(pids[pid] + ".status", "w", encoding="utf-8") as file:
            file.write(str(os.waitstatus_to_exitcode(status)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
