package verdict

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/model"
	"github.com/ray-train-efa/ray-train-efa/nccl/internal/record"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// stripped reports whether host and process were removed from all of the logs: no record with host
// and process names a network.
func stripped(ev *model.Evidence) bool {
	found := false
	for _, f := range ev.Files {
		found = found || len(f.Stripped.Channels) > 0 || f.Stripped.Provider != ""
		for _, p := range f.Procs {
			if len(p.Views)+len(p.Unassigned) > 0 {
				return false
			}
		}
	}
	return found
}

// strippedChannels counts the channels of logs without host and process. They cannot prove EFA, for
// which process and rank must be known, but they can prove another network or provider.
func (j *runJudge) strippedChannels() {
	if !j.stripped {
		return
	}
	for _, f := range j.ev.Files {
		s := &f.Stripped
		other := s.Provider != "" && s.Provider != record.EFAProvider
		if other && len(s.Channels) == 0 {
			j.blockVariant(finding.Chosen, finding.ProviderNotEFA, noRank, s.Chosen, "the provider is "+s.Provider)
		}
		for i := range s.Channels {
			t := &s.Channels[i]
			switch {
			case !record.IsEFANetwork(record.NetworkOf(t.Label)):
				j.count(report.TrafficOther, t, noRank)
			case other:
				j.other++
				j.block(finding.ProviderNotEFA, noRank, s.Chosen, "the provider is "+s.Provider)
			default:
				j.unknown++
			}
			j.block(finding.HostsRedacted, noRank, t.First, "")
		}
	}
}
