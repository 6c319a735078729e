package synth

import "math/rand/v2"

// Random returns a recipe drawn from a seed.
func Random(seed uint64, small bool) Run {
	rng := rand.New(rand.NewPCG(seed, 0xd4a3))
	return Draw(seed, small, rng.IntN)
}

// Draw creates a recipe by calling pick(n) repeatedly, so that a property-testing library can
// choose and shrink. Lower numbers mean the plainer choice. Small keeps jobs at 2 to 4 nodes of 1
// to 4 GPUs.
func Draw(seed uint64, small bool, pick func(n int) int) Run {
	r := Run{
		Seed:      seed,
		NCCL:      newestFirst(NCCLVersions(), pick),
		Plugin:    newestFirst(PluginVersions(), pick),
		Nodes:     2 + pick(3),
		GPUs:      1 + pick(4),
		Pin:       oneOf([]string{"", "Libfabric", "AWS Libfabric", "OFI"}, pick),
		Groups:    oneOf([]Groups{World, World, World, Split, Subsets, Second, UnusedSecond, NestedSplit, UnusedWorld, UnusedAll}, pick),
		Layout:    oneOf([]Layout{PerProcess, PerProcess, Merged, Merged, RaySession}, pick),
		Hosts:     oneOf([]Hosts{Distinct, Distinct, SameName, SameNameAndPID, Pods}, pick),
		Text:      oneOf([]Text{Clean, Clean, Clean, CRLF, Progress, Joined, TornNoise, Quotes, JoinedTight, TornAny}, pick),
		Fabric:    oneOf(append([]Fabric{OnEFA, OnEFA, OnEFA, OnEFA, OnEFA, OnEFA}, Fabrics()...), pick),
		Damage:    oneOf(append([]Damage{Whole, Whole, Whole, Whole, Whole, Whole, Whole, Whole, Whole, Whole}, Damages()...), pick),
		Expect:    oneOf([]Expect{Nothing, Nothing, Nothing, Met, Met, MoreRanks, MoreNodes}, pick),
		Stamp:     oneOf(append([]Stamp{NoStamp, NoStamp, NoStamp}, Stamps()...), pick),
		Trees:     pick(2) == 1,
		Eager:     pick(3) == 1,
		NetInside: pick(5) == 1, PointToPoint: pick(6) == 1, Completed: pick(2) == 1,
		OneProcess: pick(6) == 1,
	}
	r.Channels = 1 + pick(3)
	r.Launcher = oneOf(append([]Launcher{Plain, Plain, Plain, Plain}, Launchers()...), pick)
	if !small && pick(4) == 1 {
		r.Nodes, r.GPUs = 2+pick(31), 8
	}
	if pick(30) == 1 {
		r.Text = Binary
	}
	if pick(8) == 1 {
		next := Draw(seed+1, true, pick)
		next.Next = nil
		r.Next, r.NextInSameFiles = &next, pick(2) == 1
	}
	return r
}

func oneOf[T any](list []T, pick func(n int) int) T {
	return list[pick(len(list))]
}

func newestFirst(list []Version, pick func(n int) int) Version {
	return list[len(list)-1-pick(len(list))]
}
