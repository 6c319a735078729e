package render

import (
	"github.com/ray-train-efa/ray-train-efa/nccl/report"

	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// Bounds of the page's lists, which keep the file to a few megabytes.
const (
	maxFindings      = 400
	maxCommunicators = 400
	maxRows          = 5000
)

// page is what the template shows.
type page struct {
	Style    template.CSS
	Verdict  report.Verdict
	Mark     string
	Sentence string
	Facts    []fact
	Legend   []legend
	Findings []report.Finding // errors and warnings
	Pictures []picture
	Remarks  []string
	Notes    []report.Finding
	Comms    []report.Communicator
	Ranks    []row
	Cut      []string
	Open     bool
}

type fact struct{ Name, Value string }

type row struct {
	report.Rank
	Class class
	Kinds string
}

// HTML writes the report as one self-contained page: nothing is loaded from
// elsewhere, and no script runs.
func HTML(w io.Writer, r report.Report) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"px":    num,
		"kinds": func(m map[string]int) string { return trimComma(kindsText(m)) },
		"known": known,
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parsing the page template: %w", err)
	}
	if err := t.Execute(w, newPage(clean(r))); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func newPage(r report.Report) page {
	list, guessed := nodes(r)
	p := page{
		//nolint:gosec // the style sheet is a file of this package
		Style: template.CSS(pageStyle), Verdict: r.Verdict, Legend: classes(), Comms: r.Communicators, Findings: slices.Clone(r.Findings),
	}
	p.Mark, p.Sentence = sentence(r.Verdict)
	p.Facts = []fact{
		{"world size", known(r.WorldSize)}, {"ranks in evidence", known(r.RanksSeen)},
		{"nodes", known(r.Nodes)}, {"communicators", itoa(len(r.Communicators))}, {"findings", itoa(len(r.Findings))},
	}
	if len(list) > 0 {
		p.Pictures = append(p.Pictures, rankMap(list))
	}
	p.Pictures = append(p.Pictures, matrices(r, list)...)
	if guessed {
		p.Remarks = append(p.Remarks, "Hosts share names, so the ranks were dealt out to the nodes in equal shares, in their order.")
	}
	if len(r.Edges) >= report.MaxEdges {
		p.Remarks = append(p.Remarks, "There are more connections than are drawn; the verdict rests on all of them.")
	}
	slices.SortStableFunc(p.Findings, func(a, b report.Finding) int { return severity(a) - severity(b) })
	p.Findings = cut(&p, p.Findings, maxFindings, "findings")
	if i := slices.IndexFunc(p.Findings, func(f report.Finding) bool { return severity(f) == 2 }); i >= 0 {
		p.Findings, p.Notes = p.Findings[:i], p.Findings[i:]
	}
	p.Comms = cut(&p, p.Comms, maxCommunicators, "communicators")
	for _, rk := range r.Ranks {
		p.Ranks = append(p.Ranks, row{rk, classOfRank(rk), trimComma(kindsText(rk.Channels))})
	}
	// What needs a look comes first; the order of ranks is kept otherwise.
	slices.SortStableFunc(p.Ranks, func(a, b row) int { return alarming(b.Class) - alarming(a.Class) })
	p.Ranks = cut(&p, p.Ranks, maxRows, "ranks")
	p.Open = len(p.Ranks) <= 64
	return p
}

// matrices draws the matrix of ranks where it can be read, and that of nodes.
func matrices(r report.Report, list []node) []picture {
	if len(r.Edges) == 0 || len(list) == 0 {
		return nil
	}
	nodeOf, providers := map[int]int{}, map[int]string{}
	nodeNames := make([]string, len(list))
	var rankNames []string
	for i, n := range list {
		nodeNames[i] = n.Name
		for _, t := range n.Tiles {
			nodeOf[t.Rank] = i
		}
	}
	for i := range nodeOf {
		if i >= len(rankNames) {
			rankNames = append(rankNames, make([]string, i+1-len(rankNames))...)
		}
		rankNames[i] = "rank " + itoa(i)
	}
	for _, rk := range r.Ranks {
		providers[rk.Rank] = rk.Provider
	}
	out := []picture{matrix("Nodes: who sends to whom", "node", r.Edges, nodeNames, index(nodeOf), providers)}
	if len(rankNames) <= rankMatrix {
		self := func(rank int) int {
			if rank < 0 || rank >= len(rankNames) {
				return -1
			}
			return rank
		}
		out = append(out, matrix("Ranks: who sends to whom", "rank", r.Edges, rankNames, self, providers))
	}
	return out
}

func index(m map[int]int) func(int) int {
	return func(rank int) int {
		if i, ok := m[rank]; ok {
			return i
		}
		return -1
	}
}

func sentence(v report.Verdict) (mark, text string) {
	switch v {
	case report.EFA:
		return "✓", "Every rank's traffic between nodes is proven to ride EFA."
	case report.NotEFA:
		return "✕", "All traffic between nodes that is in evidence rides something else than EFA."
	case report.Mixed:
		return "✕", "Part of the traffic between nodes rides EFA, and part does not."
	default:
		return "?", "The evidence proves neither that the traffic rode EFA nor that it did not."
	}
}

func known(n *int) string {
	if n == nil {
		return "unknown"
	}
	return itoa(*n)
}

func severity(f report.Finding) int {
	switch f.Severity {
	case report.Error:
		return 0
	case report.Warning:
		return 1
	default:
		return 2
	}
}

func alarming(c class) int {
	if c == classOther || c == classUnknown {
		return 1
	}
	return 0
}

func cut[T any](p *page, list []T, most int, what string) []T {
	if len(list) <= most {
		return list
	}
	p.Cut = append(p.Cut, fmt.Sprintf("%d of %d %s are listed; the JSON form has all.", most, len(list), what))
	return list[:most]
}

func trimComma(s string) string {
	if len(s) > 2 {
		return s[2:]
	}
	return s
}
