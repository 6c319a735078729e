package synth

// Normal makes a recipe consistent: it removes what the chosen releases cannot
// do and what contradicts something else.
func (r Run) Normal() Run {
	r.Nodes, r.GPUs, r.Channels = max(1, r.Nodes), max(1, r.GPUs), max(1, r.Channels)
	if r.Hosts == Pods && !r.OneProcess {
		r.Nodes, r.GPUs = r.Nodes*r.GPUs, 1
	}
	r.Nodes = max(2, r.Nodes)
	if r.Damage == OneNode {
		r.Nodes = 1
	}
	r.normalText()
	r.normalGroups()
	r.normalReleases()
	r.normalNext()
	return r
}

// normalText settles how lines reach files.
func (r *Run) normalText() {
	if r.Launcher == RayDedup {
		r.Layout = Merged
	}
	if r.Layout == RaySession {
		r.Launcher = Plain
	}
	if r.Launcher == TimeOnNext && (r.Text == Joined || r.Text == JoinedTight) {
		r.Text = Clean // the time would become part of the record
	}
	if r.Hosts == SameNameAndPID && r.Layout != PerProcess {
		r.Hosts = SameName
	}
}

// normalGroups keeps the communicators that the release can make.
func (r *Run) normalGroups() {
	switch r.Groups {
	case Split, Subsets, NestedSplit, UnusedWorld:
		if !r.NCCL.AtLeast(18, 3) {
			r.Groups = World
		}
	}
	lazy := r.NCCL.AtLeast(22, 0)
	if !lazy && (r.Groups == UnusedSecond || r.Groups == UnusedWorld || r.Groups == UnusedAll) {
		r.Groups = World
	}
	if r.Groups == NestedSplit && !r.NCCL.AtLeast(24, 3) && r.NCCL.AtLeast(23, 4) {
		// 2.23.4 prints neither the split's count nor its id: two splits by the
		// same color cannot be distinguished.
		r.Groups = Split
	}
	if r.Groups == Second {
		r.Eager = false
	}
}

// normalReleases drops what the releases cannot print, and pins what is to abort.
func (r *Run) normalReleases() {
	if r.Fabric == SocketSecondComm || r.Fabric == SocketOneChannel {
		r.Groups = World
	}
	if r.Fabric == SocketSecondComm && (forms{r.NCCL}).sharesNetwork() {
		r.Fabric = SocketOneChannel
	}
	if !r.NCCL.AtLeast(10, 0) {
		r.PointToPoint = false
	}
	if !r.NCCL.AtLeast(26, 2) {
		r.Stamp = NoStamp
	}
	if (r.Fabric == PluginMissingPinned || r.Fabric == DeviceMissingPinned) && r.Pin == "" {
		r.Pin = "AWS Libfabric"
	}
}

// normalNext gives the further run the same hosts and collector.
func (r *Run) normalNext() {
	if r.Next != nil {
		next := *r.Next
		if r.Damage == OneNode || next.Damage == OneNode {
			r.Expect = Nothing // the two runs differ in size
		}
		next.Nodes, next.GPUs, next.OneProcess, next.Hosts = r.Nodes, r.GPUs, r.OneProcess, r.Hosts
		next.Layout, next.Launcher, next.Text, next.Next = r.Layout, r.Launcher, r.Text, nil
		next.Expect, next.Completed = r.Expect, r.Completed
		r.Next = &next
	}
}
