"""The training job whose network traffic the stack proves: FSDP on Ray Train."""
