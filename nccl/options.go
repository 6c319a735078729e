package nccl

// Options holds expectations about a run. The zero value has none.
type Options struct {
	// WorldSize is the number of ranks that the run must have; 0 means any.
	WorldSize int
	// Nodes is the number of nodes that the run must span; 0 means any.
	Nodes int
	// Provider is the required libfabric provider; "" means efa. With any other value the verdict is
	// never efa.
	Provider string
	// Completed reports whether the job succeeded. Only this proves point-to-point channels, which
	// print no line when they are connected.
	Completed bool
}
