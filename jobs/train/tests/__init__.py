"""Tests of the training job, without Ray."""
