package synth

// codes lists finding codes of which a judge must report one at least: what a
// person needs to know about the run. It is empty where the text was
// mangled or where nothing is wrong.
func (r Run) codes() []string {
	if r.Text != Clean || r.Layout == RaySession {
		return nil
	}
	if r.Launcher == RayDedup {
		return nil // the line that shows it may be among those that were dropped
	}
	switch r.Damage {
	case Whole:
		return r.fabricCodes()
	case RankMissing:
		return r.ifOnEFA("rank-missing")
	case NodeMissing:
		return r.ifOnEFA("node-missing", "rank-missing")
	case NeverConnected:
		if !r.NCCL.AtLeast(18, 3) {
			return nil // the communicator's line comes after its connections
		}
		return r.ifOnEFA("never-connected")
	case DebugWarn:
		return r.ifOnEFA("debug-too-low", "no-nccl-lines")
	case MaskNet:
		return r.ifOnEFA("subsystem-mask", "debug-too-low")
	case MaskEnv: // which looks like an excerpt
		return r.ifOnEFA("subsystem-mask", "debug-too-low", "log-cut")
	case ProviderLineLost:
		return r.ifOnEFA("provider-unknown")
	default:
		return nil
	}
}

// ifOnEFA keeps the codes of what is missing where nothing else is wrong.
func (r Run) ifOnEFA(codes ...string) []string {
	if r.Fabric != OnEFA || r.Groups != World || !r.NCCL.AtLeast(16, 5) {
		return nil
	}
	return codes
}

func (r Run) fabricCodes() []string {
	switch r.Fabric {
	case PluginMissing, PluginMissingOneNode:
		return []string{"plugin-not-found"}
	case PluginMissingPinned, DeviceMissingPinned:
		return []string{"pinned-network-absent"}
	case DeviceMissing, DeviceMissingOneRank:
		return []string{"no-eligible-provider", "efa-device-missing", "plugin-init-failed"}
	case LibfabricTooOld:
		return []string{"libfabric-too-old", "plugin-init-failed", "endpoint-failed"}
	case EndpointFailed:
		return []string{"completion-queue-failed", "endpoint-failed", "plugin-init-failed"}
	case InitFailureContradicted:
		return r.ifUsed("provider-failed-later")
	case ProviderTCP, ProviderCXI, ProviderVerbs, ProviderReselectedTCP, ProviderTCPOneRank:
		return r.ifUsed("provider-not-efa")
	case SocketForced, InfiniBand, SocketOneRank, SocketOneRankConnected, SocketOneChannel, SocketSecondComm, SocketAgainstTCP:
		return r.ifUsed("other-network")
	default:
		return r.expectCodes()
	}
}

func (r Run) ifUsed(code string) []string {
	if r.Groups == UnusedAll {
		return nil
	}
	return []string{code}
}

func (r Run) expectCodes() []string {
	switch {
	case !r.NCCL.AtLeast(6, 4):
		return []string{"nccl-too-old"}
	case r.Expect == MoreRanks:
		return []string{"world-size-mismatch"}
	case r.Expect == MoreNodes:
		return []string{"nodes-mismatch"}
	case r.Groups == UnusedAll:
		return []string{"no-traffic"}
	case r.Groups == UnusedSecond, r.Groups == UnusedWorld:
		return []string{"unused-communicator"}
	case r.PointToPoint && !r.Completed:
		return []string{"point-to-point-unproven"}
	default:
		return nil
	}
}
