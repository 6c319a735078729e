package nccl

// Options is what is known about a run beside its logs. The zero value asks
// for nothing beyond what the logs show.
type Options struct {
	// WorldSize is the number of ranks that the run must have; 0 means any.
	WorldSize int
	// Nodes is the number of nodes that the run must span; 0 means any.
	Nodes int
	// Provider is the libfabric provider that the gate wants; "" means efa. No
	// other can ever make the verdict efa.
	Provider string
	// Completed says that the job is known to have ended well, which alone
	// proves point-to-point channels (they print no line once connected).
	Completed bool
}
