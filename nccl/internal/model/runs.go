package model

// Run is a set of communicators whose processes are connected through shared communicators.
// Evidence with several was put together from several runs, or from unrelated jobs.
type Run struct {
	Comms []*Communicator
}

// groupRuns splits the communicators into runs, in order of appearance: a
// communicator belongs to the first one before it with which it shares a
// process, also through others.
func groupRuns(comms []*Communicator) []*Run {
	parent := make([]int, len(comms))
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[*Process]int{} // a communicator of the process
	for i, c := range comms {
		parent[i] = i
		for _, rk := range c.Ranks {
			for _, m := range rk.Views {
				other, known := first[m.Proc]
				if !known {
					first[m.Proc] = i
					continue
				}
				a, b := find(other), find(i)
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	var out []*Run
	at := make([]*Run, len(comms))
	for i, c := range comms {
		root := find(i)
		if at[root] == nil {
			at[root] = &Run{}
			out = append(out, at[root])
		}
		at[root].Comms = append(at[root].Comms, c)
	}
	return out
}
