package preflight

// bytesPerElement is the smallest element size that is sent: bfloat16, in which the training code
// gathers parameters on GPUs (sharding.py). Gradients are float32 there, twice as much; the lower
// bound ignores that.
const bytesPerElement = 2

// collectivesPerStep counts, for each parameter and step, one all-gather before the forward pass
// and one reduce-scatter after the backward pass. FSDP gathers most parameters a second time for
// the backward pass, which is not counted.
//
// Source: Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", VLDB
// 2023, section 3.2; torch.distributed.fsdp.fully_shard.
const collectivesPerStep = 2

// MinBytes returns a lower bound for the bytes that all nodes together must send, and receive, in
// an FSDP run: steps x collectivesPerStep x parameters x bytesPerElement x (nodes - 1).
//
// Each of n nodes holds 1/n of a sharded tensor of size S. An all-gather sends the other (n-1)/n to
// every node, and a reduce-scatter sends at least as much, regardless of how ranks within a node
// share data. Over n nodes that is (n-1) S, whatever algorithm NCCL chooses (ring, tree, PAT).
// Headers, the second all-gather and retransmissions come on top.
func MinBytes(parameters int64, steps, nodes int) float64 {
	if parameters < 1 || steps < 1 || nodes < 2 {
		return 0
	}
	return float64(
		steps,
	) * collectivesPerStep * float64(
		parameters,
	) * bytesPerElement * float64(
		nodes-1,
	)
}
