"""A causal language model of Hugging Face, trained by transformers' Trainer in Ray Train.

The model is small and has random weights, so that nothing is downloaded. One rank for each GPU of
the cluster, or two ranks with gloo when it has none.
"""

from __future__ import annotations

import tempfile
from typing import Any

import ray
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

STEPS, BATCH, LENGTH, VOCABULARY = 5, 4, 32, 128


def dataset() -> list[dict[str, torch.Tensor]]:
    """Return sequences that count upwards, which a model learns fast."""
    rows = torch.arange(LENGTH) + torch.arange(256)[:, None]
    return [{"input_ids": row % VOCABULARY, "labels": row % VOCABULARY} for row in rows]


def train(config: dict[str, Any]) -> None:
    """Train on one rank; the Trainer uses the process group that Ray Train has started."""
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(
            "qwen2",
            vocab_size=VOCABULARY,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    trainer = Trainer(
        model,
        TrainingArguments(
            output_dir=tempfile.mkdtemp(),
            max_steps=config["steps"],
            per_device_train_batch_size=BATCH,
            learning_rate=1e-3,
            logging_steps=1,
            save_steps=config["steps"],
            use_cpu=not torch.cuda.is_available(),
            disable_tqdm=True,
            report_to=[],
        ),
        train_dataset=dataset(),
        callbacks=[RayTrainReportCallback()],  # hands each checkpoint of the Trainer to Ray Train
    )
    prepare_trainer(trainer).train()


def main() -> None:
    """Start one rank for each GPU, or two on CPUs."""
    ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    # With several nodes, give a folder that all nodes share, or a URI such as s3://bucket/runs.
    storage = tempfile.mkdtemp()
    result = TorchTrainer(
        train,
        train_loop_config={"steps": STEPS},
        scaling_config=ScalingConfig(num_workers=gpus or 2, use_gpu=gpus > 0),
        run_config=RunConfig(name="example", storage_path=storage),
    ).fit()
    if result.checkpoint is None:
        raise SystemExit("the run has no checkpoint")
    print("trained:", result.metrics)


if __name__ == "__main__":
    main()
