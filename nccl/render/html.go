package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// The most entries of the page's lists, which keep the file to a few megabytes.
const (
	pageFindings      = 400
	pageCommunicators = 400
	pageRanks         = 5000
	// pageOpen is the most ranks with which the folded lists are open at first.
	pageOpen = 64
)

// page holds the data of the template.
type page struct {
	summary
	Style     template.CSS
	Verdict   report.Verdict
	Mark      string
	Notice    string // of a rehearsal
	Made      string
	Facts     []Fact
	Run       []Fact
	Charts    []chart.Chart
	Legend    []legend
	Pictures  []picture
	Remarks   []string
	Comms     table
	Ranks     table
	Cut       []string
	OpenRanks bool
	OpenProof bool
}

// HTML writes the report as one self-contained page: it loads nothing and runs no script.
func HTML(w io.Writer, r report.Report, opts Options) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"px": num, "title": title, "next": nextOf, "prose": prose,
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parsing the page template: %w", err)
	}
	if err := t.Execute(w, newPage(plain(r), opts)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// Style returns the style sheet of the pages, for other pages that look the same.
func Style() template.CSS {
	return template.CSS(pageStyle) //nolint:gosec // the style sheet is a file of this package
}

// prose escapes a text and marks what is between backticks as code.
func prose(s string) template.HTML {
	s = template.HTMLEscapeString(s)
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // one without its partner
		parts = []string{s}
	}
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return template.HTML(strings.Join(parts, "")) //nolint:gosec // escaped above
}

func newPage(r report.Report, opts Options) page {
	p := page{
		summary: summarize(r), Verdict: r.Verdict, Mark: mark(r.Verdict), Legend: legends(),
		Style: Style(), Made: origin(opts), OpenProof: opts.Proof, OpenRanks: len(r.Ranks) <= pageOpen,
		Charts: opts.Charts,
	}
	for _, f := range opts.Run {
		p.Run = append(p.Run, Fact{Name: printable(f.Name), Value: printable(f.Value)})
	}
	if r.Rehearsed {
		p.Notice = rehearsedNotice
	}
	p.Facts = []Fact{
		{"world size", number(r.WorldSize, "unknown")},
		{"ranks in evidence", number(r.RanksSeen, "unknown")},
		{"nodes", number(r.Nodes, "unknown")},
		{"communicators", itoa(len(r.Communicators))},
		{"findings", p.Counts},
	}
	p.draw(r)
	p.Findings = cut(&p, p.Findings, pageFindings, "findings")
	p.Notes = cut(&p, p.Notes, pageFindings, "notes")
	p.Comms, p.Ranks = communicatorTable(r, pageCommunicators), rankTable(r, pageRanks)
	for _, t := range []table{p.Comms, p.Ranks} {
		if t.Total > len(t.Rows) {
			p.Cut = append(p.Cut, remark(len(t.Rows), t.Total, strings.ToLower(t.Title)))
		}
	}
	return p
}

// draw adds the pictures and what must be known about them.
func (p *page) draw(r report.Report) {
	list, guessed := nodes(r)
	if len(list) > 0 {
		p.Pictures = append([]picture{rankMap(list)}, matrices(r, list)...)
	}
	if guessed {
		p.Remarks = append(p.Remarks,
			"Hosts share names, so each node is drawn with an equal share of the ranks, in their order.")
	}
	if len(r.Edges) >= report.MaxEdges {
		p.Remarks = append(p.Remarks,
			"There are more connections than are drawn. The verdict is based on all of them.")
	}
}

// cut keeps the first entries of a list and adds a remark about the others.
func cut[T any](p *page, list []T, most int, what string) []T {
	if len(list) <= most {
		return list
	}
	p.Cut = append(p.Cut, remark(most, len(list), what))
	return list[:most]
}

func remark(listed, all int, what string) string {
	return fmt.Sprintf("%d of %d %s are listed; --format json lists all.", listed, all, what)
}

func mark(v report.Verdict) string {
	switch v {
	case report.EFA:
		return "✓"
	case report.Inconclusive:
		return "?"
	default:
		return "✕"
	}
}

// maxInputs is the most paths that a report names.
const maxInputs = 8

// origin returns when and from which inputs a report was made.
func origin(opts Options) string {
	var words []string
	if !opts.Made.IsZero() {
		words = append(words, "on "+made(opts.Made))
	}
	if n := len(opts.Inputs); n > 0 {
		inputs := make([]string, 0, maxInputs)
		for _, input := range opts.Inputs[:min(n, maxInputs)] {
			if input == "-" {
				input = "standard input"
			}
			inputs = append(inputs, printable(input))
		}
		text := "from " + strings.Join(inputs, ", ")
		if n > maxInputs {
			text += fmt.Sprintf(" and %d more", n-maxInputs)
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		return ""
	}
	return "Made by raytrain verdict " + strings.Join(words, " ") + "."
}

func made(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
