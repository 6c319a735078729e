package render

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// table is a table in every format for people.
type table struct {
	Title  string
	Header []string
	Rows   []row
	// Total is the number of rows before the table was cut.
	Total int
}

// row is a row with the traffic that it shows.
type row struct {
	Traffic report.Traffic
	Cells   []string
}

// rankTable lists the ranks, including those without evidence, problems first. It names runs and
// communicators where there are several.
func rankTable(r report.Report, most int) table {
	t := table{Title: "Ranks", Header: []string{
		"rank", "run", "communicator", "host", "pid", "network", "provider", "channels", "file",
	}}
	for _, i := range missingRanks(r) {
		cells := make([]string, len(t.Header))
		cells[0], cells[len(cells)-1] = itoa(i), "no evidence"
		t.Rows = append(t.Rows, row{missing, cells})
	}
	for _, k := range r.Ranks {
		t.Rows = append(t.Rows, row{k.Traffic, []string{
			itoa(k.Rank), itoa(k.Run), k.Communicator, k.Host, pid(k.PID), k.Network, k.Provider,
			channels(k.Channels), k.File,
		}})
	}
	slices.SortStableFunc(t.Rows, func(a, b row) int { return order(a.Traffic) - order(b.Traffic) })
	if !severalRuns(r) {
		t = t.without("run")
	} else if len(r.Ranks) > 0 {
		t.Title = "Ranks of run " + itoa(r.Ranks[0].Run) + ", which decided the verdict"
	}
	if len(r.Communicators) < 2 {
		t = t.without("communicator")
	}
	return t.cut(most)
}

// order sorts problems first.
func order(t report.Traffic) int {
	if bad(t) {
		return 0
	}
	return 1
}

func severalRuns(r report.Report) bool {
	return slices.ContainsFunc(r.Communicators, func(c report.Communicator) bool { return c.Run > 1 })
}

// missingRanks lists the ranks that are not in evidence.
func missingRanks(r report.Report) []int {
	if r.WorldSize == nil {
		return nil
	}
	seen := map[int]bool{}
	for _, k := range r.Ranks {
		seen[k.Rank] = true
	}
	var missing []int
	for i := range min(*r.WorldSize, maxRanks) {
		if !seen[i] {
			missing = append(missing, i)
		}
	}
	return missing
}

// communicatorTable lists the communicators in their order.
func communicatorTable(r report.Report, most int) table {
	t := table{Title: "Communicators", Header: []string{
		"communicator", "run", "size", "ranks seen", "nNodes", "network", "provider", "channels",
		"connected",
	}}
	for _, c := range r.Communicators {
		connected := "no"
		if c.Connected {
			connected = "yes"
		}
		t.Rows = append(t.Rows, row{c.Traffic, []string{
			c.ID, itoa(c.Run), number(c.Size, "?"), itoa(c.RanksSeen), number(c.Nodes, "?"),
			c.Network, c.Provider, channels(c.Channels), connected,
		}})
	}
	if !severalRuns(r) {
		t = t.without("run")
	}
	return t.cut(most)
}

// without removes a column.
func (t table) without(name string) table {
	i := slices.Index(t.Header, name)
	t.Header = slices.Delete(t.Header, i, i+1)
	for j := range t.Rows {
		t.Rows[j].Cells = slices.Delete(t.Rows[j].Cells, i, i+1)
	}
	return t
}

// cut keeps the first rows and fills empty cells.
func (t table) cut(most int) table {
	t.Total = len(t.Rows)
	t.Rows = t.Rows[:min(len(t.Rows), most)]
	for _, r := range t.Rows {
		for i, cell := range r.Cells {
			if strings.TrimSpace(cell) == "" {
				r.Cells[i] = "-"
			}
		}
	}
	return t
}

func pid(n int) string {
	if n == 0 {
		return ""
	}
	return itoa(n)
}

// channels renders {"NET/Libfabric": 4, "P2P": 2} as "NET/Libfabric 4, P2P 2".
func channels(counts map[string]int) string {
	words := make([]string, 0, len(counts))
	for _, k := range sortedKeys(counts) {
		words = append(words, k+" "+itoa(counts[k]))
	}
	return strings.Join(words, ", ")
}

// maxCell is the most columns that a cell takes in text; the last of a row takes what it needs.
const maxCell = 40

// lines aligns the table for a terminal.
func (t table) lines(paint func(report.Traffic, string) string) []string {
	rows := make([][]string, 0, len(t.Rows)+1)
	rows = append(rows, t.Header)
	for _, r := range t.Rows {
		rows = append(rows, r.Cells)
	}
	last := len(t.Header) - 1
	widths := make([]int, last)
	for i, cells := range rows {
		rows[i] = slices.Clone(cells)
		for j := range last {
			rows[i][j] = shorten(cells[j], maxCell)
			widths[j] = max(widths[j], displayWidth(rows[i][j]))
		}
	}
	lines := make([]string, len(rows))
	for i, cells := range rows {
		var b strings.Builder
		for j, n := range widths {
			b.WriteString(cells[j] + strings.Repeat(" ", n-displayWidth(cells[j])+2))
		}
		b.WriteString(cells[last])
		if i == 0 {
			lines[i] = strings.ToUpper(b.String())
			continue
		}
		lines[i] = paint(t.Rows[i-1].Traffic, b.String())
	}
	return lines
}

// displayWidth returns the number of terminal columns that a printable text takes.
func displayWidth(s string) int {
	if isASCII(s) {
		return len(s)
	}
	n := 0
	for _, c := range s {
		n += runeWidth(c)
	}
	return n
}

func runeWidth(c rune) int {
	if unicode.In(c, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// shorten keeps the end of a long name, which distinguishes hosts.
func shorten(s string, most int) string {
	if displayWidth(s) <= most {
		return s
	}
	runes := []rune(s)
	at, n := len(runes), 1 // the ellipsis
	for at > 0 && n+runeWidth(runes[at-1]) <= most {
		at--
		n += runeWidth(runes[at])
	}
	return "…" + string(runes[at:])
}
