"""The training job whose network traffic is judged: FSDP on Ray Train."""
