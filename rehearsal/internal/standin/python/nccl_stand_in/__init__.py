"""A stand-in for NCCL in rehearsals, on machines without GPUs.

The training itself runs over gloo. At the same time this package writes into
NCCL_DEBUG_FILE the lines that NCCL 2.29.7 with aws-ofi-nccl 1.20.0 would write on
a node with the devices, environment, security groups and placement that the
emulated AWS account gave it, and it fails or hangs where NCCL would. The first line
of each file says that this stand-in wrote it.

The formats of the lines come from the sources of NCCL and aws-ofi-nccl and from
logs recorded on real GPUs. The values in them are computed here.
"""
