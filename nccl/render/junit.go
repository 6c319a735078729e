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

// JUnit writes the report as one JUnit test suite: a case for the verdict, one
// for each communicator and one for each rank. A case fails when a finding of
// severity error concerns it, when its traffic is not on EFA, or, for the
// verdict, when it is not efa.
func JUnit(w io.Writer, r report.Report) error {
	r = clean(r)
	s := junitSuite{Name: "raytrain verdict", Properties: []junitProperty{{"verdict", string(r.Verdict)}}}
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
	var notes strings.Builder
	for _, f := range r.Findings {
		if f.Severity != report.Error {
			notes.WriteString(findingText(f) + "\n\n")
		}
	}
	s.Output = notes.String()
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
	s.Cases = append(s.Cases, junitCase{Name: name, Class: "raytrain.verdict." + kind, Failure: failure})
}

func failureOfRun(r report.Report) *junitFailure {
	if r.Verdict == report.EFA {
		return nil
	}
	f := &junitFailure{Message: "verdict: " + string(r.Verdict), Type: string(r.Verdict)}
	var text strings.Builder
	for _, finding := range r.Findings {
		if finding.Severity == report.Error {
			text.WriteString(findingText(finding) + "\n\n")
		}
	}
	f.Text = text.String()
	return f
}

func failureOfCommunicator(c report.Communicator) *junitFailure {
	if c.Nodes != nil && *c.Nodes < 2 {
		return nil
	}
	worst := classIdle
	for kind := range c.Channels {
		worst = heavier(worst, classOf(kind, c.Provider))
	}
	switch {
	case worst == classOther:
		return &junitFailure{Message: "not on EFA: network " + c.Network + ", provider " + c.Provider, Type: "not-efa"}
	case worst == classUnknown:
		return &junitFailure{Message: "no line names the provider of " + c.Network, Type: "inconclusive"}
	case c.Size != nil && c.RanksSeen < *c.Size:
		return &junitFailure{Message: fmt.Sprintf("%d of %d ranks in evidence", c.RanksSeen, *c.Size), Type: "inconclusive"}
	case worst == classEFA && !c.Connected:
		return &junitFailure{Message: "channels were set up but never connected", Type: "inconclusive"}
	default:
		return nil
	}
}

func failureOfRank(t tile, errors []report.Finding) *junitFailure {
	switch {
	case len(errors) > 0:
		texts := make([]string, len(errors))
		for i, f := range errors {
			texts[i] = findingText(f)
		}
		return &junitFailure{Message: errors[0].Code, Type: errors[0].Code, Text: strings.Join(texts, "\n\n")}
	case t.Class == classOther:
		return &junitFailure{Message: "inter-node traffic is not on EFA", Type: "not-efa", Text: t.Title}
	case t.Class == classMissing:
		return &junitFailure{Message: "no evidence of this rank", Type: "inconclusive", Text: t.Title}
	case t.Class == classUnknown:
		return &junitFailure{Message: "no line names the provider", Type: "inconclusive", Text: t.Title}
	default:
		return nil
	}
}

// findingText is a finding as a paragraph.
func findingText(f report.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", f.Code, f.Severity)
	if f.Rank != nil {
		fmt.Fprintf(&b, ", rank %d", *f.Rank)
	}
	if f.File != "" {
		fmt.Fprintf(&b, "\n  %s", f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
	}
	for _, part := range []struct{ name, text string }{{"line", f.Text}, {"cause", f.Cause}, {"next", f.Next}} {
		if part.text != "" {
			fmt.Fprintf(&b, "\n  %s: %s", part.name, part.text)
		}
	}
	return b.String()
}
