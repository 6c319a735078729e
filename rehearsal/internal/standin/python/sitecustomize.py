"""Switches the NCCL stand-in on in a rehearsed image, and only there.

Python imports this module at every start when the image's PYTHONPATH names its
folder. It does almost nothing until a program imports torch.distributed.
"""

import os

if os.environ.get("RAYTRAIN_REHEARSAL") == "1":
    from nccl_stand_in import hook

    hook.install()
