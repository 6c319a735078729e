package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

type junitSuite struct {
	XMLName    xml.Name        `xml:"testsuite"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Output     string          `xml:"system-out,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as one JUnit test suite: a case for the verdict, one for each communicator
// and one for each rank. A case fails when a finding of severity error concerns it, when its traffic
// is not on EFA, or, for the verdict, when it is not efa.
func JUnit(w io.Writer, r report.Report, opts Options) error {
	r = plain(r)
	s := junitSuite{Name: "raytrain verdict", Properties: properties(r, opts)}
	s.add("verdict", "verdict", failureOfRun(r))
	for _, c := range r.Communicators {
		s.add("communicator", "communicator "+c.ID, failureOfCommunicator(c))
	}
	list, _ := nodes(r)
	byRank := map[int][]report.Finding{}
	for _, f := range r.Findings {
		if f.Rank != nil && f.Severity == report.Error {
			byRank[*f.Rank] = append(byRank[*f.Rank], f)
		}
	}
	for _, n := range list {
		for _, t := range n.Tiles {
			s.add("rank", "rank "+itoa(t.Rank), failureOfRank(t, byRank[t.Rank]))
		}
	}
	s.Output = paragraphs(r.Findings, func(f report.Finding) bool {
		return f.Severity != report.Error && (opts.Proof || !f.IsProof())
	})
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing the JUnit header: %w", err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("writing the JUnit suite: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("ending the JUnit suite: %w", err)
	}
	return nil
}

func (s *junitSuite) add(kind, name string, failure *junitFailure) {
	s.Tests++
	if failure != nil {
		s.Failures++
	}
	s.Cases = append(s.Cases, junitCase{name, "raytrain.verdict." + kind, failure})
}

func failureOfRun(r report.Report) *junitFailure {
	if r.Verdict == report.EFA {
		return nil
	}
	return &junitFailure{
		Message: "verdict: " + string(r.Verdict), Type: string(r.Verdict),
		Text: paragraphs(r.Findings, func(f report.Finding) bool { return f.Severity == report.Error }),
	}
}

func failureOfCommunicator(c report.Communicator) *junitFailure {
	if c.Nodes != nil && *c.Nodes < 2 {
		return nil
	}
	unproven := func(message string) *junitFailure {
		return &junitFailure{Message: message, Type: string(report.Inconclusive)}
	}
	switch {
	case c.Traffic == report.TrafficOther:
		return &junitFailure{
			Message: "not on EFA: network " + c.Network + ", provider " + c.Provider,
			Type:    string(report.NotEFA),
		}
	case c.Traffic == report.TrafficUnknown:
		return unproven("no line names the provider of " + c.Network)
	case c.Size != nil && c.RanksSeen < *c.Size:
		return unproven(fmt.Sprintf("%d of %d ranks in evidence", c.RanksSeen, *c.Size))
	case c.Traffic == report.TrafficEFA && !c.Connected:
		return unproven("channels were set up but never connected")
	default:
		return nil
	}
}

func failureOfRank(t tile, errors []report.Finding) *junitFailure {
	switch {
	case len(errors) > 0:
		all := paragraphs(errors, func(report.Finding) bool { return true })
		return &junitFailure{Message: errors[0].Code, Type: errors[0].Code, Text: all}
	case t.Traffic == report.TrafficOther:
		return &junitFailure{
			Message: "traffic between nodes is not on EFA", Type: string(report.NotEFA), Text: t.Title,
		}
	case t.Traffic == missing:
		return &junitFailure{
			Message: "no evidence of this rank", Type: string(report.Inconclusive), Text: t.Title,
		}
	case t.Traffic == report.TrafficUnknown:
		return &junitFailure{
			Message: "no line names the provider", Type: string(report.Inconclusive), Text: t.Title,
		}
	default:
		return nil
	}
}

// properties returns what the suite was made of and when.
func properties(r report.Report, opts Options) []junitProperty {
	list := []junitProperty{{"verdict", string(r.Verdict)}, {"summary", headline(r)}}
	if r.Rehearsed {
		list = append(list, junitProperty{"rehearsed", "true"})
	}
	for _, input := range opts.Inputs {
		list = append(list, junitProperty{"input", printable(input)})
	}
	if !opts.Made.IsZero() {
		list = append(list, junitProperty{"made", made(opts.Made)})
	}
	return list
}

// paragraphs writes the findings that are chosen, with an empty line behind each.
func paragraphs(list []report.Finding, chosen func(report.Finding) bool) string {
	var b strings.Builder
	for _, f := range list {
		if chosen(f) {
			fmt.Fprintf(&b, "%s: %s\n%s\n\n", f.Severity, title(f), strings.Join(details(f), "\n"))
		}
	}
	return b.String()
}
