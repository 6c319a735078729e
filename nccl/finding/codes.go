// Package finding defines the finding codes with their causes, next steps and explanations.
package finding

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Code identifies a finding. Its text form is the stable, kebab-case code of a report's finding.
type Code uint8

// The finding codes, in the order in which findings of one severity are listed: what explains
// others comes before them.
const (
	None Code = iota // no finding

	// What kept the network plugin from working, which usually explains the rest.
	PluginNotFound
	PluginLoadError
	LibfabricTooOld
	GetinfoFailed
	EFADeviceMissing
	NoEligibleProvider
	GDRRefused
	EndpointFailed
	QueueFailed
	PluginInitFailed
	ProviderFailedLater
	PinnedNetworkAbsent
	SocketInterfaceWrong
	DuplicateGPU
	BootstrapOnLoopback

	// What broke the traffic.
	MemoryRegistrationFailed
	RailsDiffer
	TransferFailed
	PeerUnreachable
	MagicFlood
	TwoNetworks
	DeviceCountsDiffer
	RemoteLost

	// What the traffic used.
	LinesOutOfOrder
	MixedTransports
	ProviderNotEFA
	OtherNetwork
	NetworkMismatch
	MNNVLBetweenNodes
	UnknownTransport
	NeverConnected

	// What is missing from the evidence.
	AttemptFailed
	NoNCCLLines
	DebugTooLow
	SubsystemMask
	OneHost
	HostsRedacted
	RayDeduplicated
	LogCut
	TornLines
	VersionTooOld
	NodeMissing
	RankMissing
	NetworkUnknown
	ProviderUnknown
	InitIncomplete
	NoTraffic
	NoInterNode
	PointToPointUnproven
	OneSided

	// What does not fit what was expected.
	WorldSizeMismatch
	NodesMismatch
	ProviderUnexpected
	SizeConflict

	// What needs a look.
	SeveralRuns
	StaleRun
	TwoNCCLVersions
	TwoPluginVersions
	UnexplainedWarning
	HostsShareName
	GDRAbsent
	FewerDevices
	UnbalancedChannels
	UnusedCommunicator
	RCCL

	// The lines that a verdict is based on.
	ProofProvider
	ProofNetwork
	ProofChannel
	ProofConnected

	codeCount
)

// String returns the stable name of the code.
func (c Code) String() string { return row(c).name }

// Codes lists every finding code in listing order.
func Codes() []Code {
	all := make([]Code, 0, codeCount-1)
	for c := None + 1; c < codeCount; c++ {
		all = append(all, c)
	}
	return all
}

// Variant selects other words for a finding.
type Variant uint8

const (
	// Plain is the default.
	Plain Variant = iota
	// Chosen means that a network or provider was chosen, and no channel shows that it was used.
	Chosen
	// OffEFA means that the channels concerned are not on EFA.
	OffEFA
	// Harmless means that later lines show that it had no effect.
	Harmless
)

// Describe returns the code's severity, its cause and the next step.
func (c Code) Describe(v Variant) (severity report.Severity, cause, next string) {
	r := row(c)
	switch {
	case c == OtherNetwork && v == Chosen:
		return r.severity, "a network that is not EFA was chosen; no channel shows that it was used", r.next
	case c == ProviderNotEFA && v == Chosen:
		return r.severity, "the plugin selected a libfabric provider other than efa; no channel shows that it was used", r.next
	case c == NeverConnected && v == OffEFA:
		return r.severity, "channels were set up but never connected",
			"look for a rank that hangs or crashed, and check that the nodes reach each other on the network named here"
	}
	if v == Harmless && r.severity == report.Error {
		return report.Warning, r.cause, r.next
	}
	return r.severity, r.cause, r.next
}

// Explanation is what a finding means.
type Explanation struct {
	Code     string
	Severity report.Severity
	// Meaning is what the finding means, How why it happens, Next what to do.
	Meaning, How, Next string
	// Sources are the source files, issues and documents that it is based on.
	Sources []string
}

// Explain returns what the finding with a code means, and reports whether there is such a code.
func Explain(code string) (e Explanation, ok bool) {
	i := slices.IndexFunc(Codes(), func(c Code) bool { return c.String() == code })
	if i < 0 {
		return Explanation{}, false
	}
	r := row(Codes()[i])
	return Explanation{
		Code: r.name, Severity: r.severity, Meaning: r.cause, How: r.how, Next: r.next, Sources: slices.Clone(r.sources),
	}, true
}

// words are the texts of one code. The cause is why the line was printed; next is what to run or
// set.
type words struct {
	name      string
	severity  report.Severity
	cause     string
	next, how string
	sources   []string
}

// row returns the words of a code.
func row(c Code) words {
	for _, table := range []map[Code]words{pluginRows, brokenRows, trafficRows, missingRows, expectedRows, lookRows, proofRows} {
		if w, ok := table[c]; ok {
			return w
		}
	}
	return words{}
}
