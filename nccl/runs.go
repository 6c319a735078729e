package nccl

// run is a set of communicators whose processes are connected through shared
// communicators. Evidence that holds several was put together from several
// runs, or from jobs that know nothing of each other.
type run struct {
	comms []*comm
}

// groupRuns splits the communicators into runs, in order of appearance: a
// communicator belongs to the first one before it with which it shares a
// process, be it through others.
func groupRuns(comms []*comm) []*run {
	parent := make([]int, len(comms))
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[*process]int{} // a communicator of the process
	for i, c := range comms {
		parent[i] = i
		for _, cl := range c.claims {
			for _, m := range cl.members {
				other, known := first[m.proc]
				if !known {
					first[m.proc] = i
					continue
				}
				a, b := find(other), find(i)
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	var out []*run
	at := make([]*run, len(comms))
	for i, c := range comms {
		root := find(i)
		if at[root] == nil {
			at[root] = &run{}
			out = append(out, at[root])
		}
		at[root].comms = append(at[root].comms, c)
	}
	return out
}
