package render

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

const (
	// matrixSide is the greatest side of a matrix, in pixels.
	matrixSide = 720.0
	// maxMatrix is the most rows that a matrix has; with more, neighbors share a row.
	maxMatrix = 512
	// rankMatrix is the most ranks for which the matrix of ranks is drawn, too.
	rankMatrix = 128
)

// matrices draws the matrix of nodes and, where it can be read, that of ranks.
func matrices(r report.Report, list []node) []picture {
	if len(r.Edges) == 0 || len(list) == 0 {
		return nil
	}
	nodeOf, rankOf := map[int]int{}, map[int]int{}
	nodeNames := make([]string, len(list))
	var numbers []int
	for i, n := range list {
		nodeNames[i] = n.Name
		for _, t := range n.Tiles {
			nodeOf[t.Rank] = i
			numbers = append(numbers, t.Rank)
		}
	}
	out := []picture{newMatrix("node", nodeNames, nodeOf).draw(r.Edges)}
	if len(numbers) > rankMatrix {
		return out
	}
	slices.Sort(numbers)
	rankNames := make([]string, len(numbers))
	for i, n := range numbers {
		rankOf[n], rankNames[i] = i, "rank "+itoa(n)
	}
	return append(out, newMatrix("rank", rankNames, rankOf).draw(r.Edges))
}

// matrix shows who sends to whom: rows send, columns receive.
type matrix struct {
	what  string
	names []string
	// at maps a rank to the name that it belongs to.
	at map[int]int
	// group is the number of neighboring names that share a row, and rows the number of rows.
	group, rows int
	// size is the side of a cell; left and top are the room for the names.
	size, left, top float64
}

func newMatrix(what string, names []string, at map[int]int) matrix {
	m := matrix{what: what, names: names, at: at, left: 60, top: 24}
	m.group = (len(names) + maxMatrix - 1) / maxMatrix
	m.rows = (len(names) + m.group - 1) / m.group
	m.size = min(largestCell, matrixSide/float64(m.rows))
	if m.named() {
		m.left, m.top = room(names, 26), room(names, 17)
	}
	return m
}

// named reports whether there is room for the name of every row.
func (m matrix) named() bool { return m.rows <= labeled }

func (m matrix) draw(edges []report.Edge) picture {
	side := m.size * float64(m.rows)
	title := map[string]string{"node": "Nodes", "rank": "Ranks"}[m.what]
	p := picture{
		Name:  title + ": who sends to whom",
		About: "Rows send, columns receive. A cell shows the worst of its connections.",
		Frame: &cell{X: m.left, Y: m.top, W: side, H: side},
		Width: m.left + side + 6, Height: m.top + side + 6,
	}
	if m.group > 1 {
		p.About += " A row is " + itoa(m.group) + " neighboring " + m.what + "s."
	}
	m.axes(&p)
	for _, q := range m.pairs(edges) {
		c := cell{
			X: m.left + float64(q.to)*m.size, Y: m.top + float64(q.from)*m.size, W: m.size, H: m.size,
			Traffic: q.traffic,
			Title:   m.names[q.from*m.group] + " to " + m.names[q.to*m.group] + kindsText(q.kinds),
		}
		if bad(q.traffic) && m.size < badCell {
			c.X, c.Y = c.X-(badCell-m.size)/2, c.Y-(badCell-m.size)/2
			c.W, c.H = badCell, badCell
		}
		if m.size > 6 {
			c.X, c.Y, c.W, c.H = c.X+1, c.Y+1, c.W-2, c.H-2
		}
		p.Cells = append(p.Cells, c)
	}
	return p
}

// room returns the width that names need next to a picture.
func room(names []string, most int) float64 {
	longest := 0
	for _, n := range names {
		longest = max(longest, min(most, displayWidth(n)))
	}
	return 18 + 6.9*float64(longest)
}

// axes names the rows and columns, or numbers some of them where they are too many.
func (m matrix) axes(p *picture) {
	step := 1
	if !m.named() {
		step = max(1, (m.rows/8+7)/8*8)
	}
	side := m.size * float64(m.rows)
	for i := 0; i < m.rows; i += step {
		at := float64(i) * m.size
		middle := at + m.size/2
		row := label{X: m.left - 8, Y: m.top + middle + 4, Text: itoa(i * m.group), Right: true}
		column := label{X: m.left + middle, Y: m.top - 6, Text: row.Text}
		if m.named() {
			name := m.names[i*m.group]
			row.Text = shorten(name, 26)
			column = label{X: m.left + middle + 4, Y: m.top - 6, Text: shorten(name, 17), Turned: true}
		}
		p.Labels = append(p.Labels, row, column)
		if i > 0 {
			p.Lines = append(p.Lines,
				line{m.left + at, m.top, m.left + at, m.top + side},
				line{m.left, m.top + at, m.left + side, m.top + at})
		}
	}
}

// pair is a cell of a matrix before it is drawn.
type pair struct {
	from, to int
	traffic  report.Traffic
	kinds    map[string]int
}

// pairs joins the edges of each cell. The worst come last, so that they are drawn on top.
func (m matrix) pairs(edges []report.Edge) []pair {
	byCell := map[[2]int]*pair{}
	for _, e := range edges {
		from, known := m.at[e.From]
		to, alsoKnown := m.at[e.To]
		if !known || !alsoKnown {
			continue
		}
		k := [2]int{from / m.group, to / m.group}
		q := byCell[k]
		if q == nil {
			q = &pair{from: k[0], to: k[1], traffic: report.TrafficNone, kinds: map[string]int{}}
			byCell[k] = q
		}
		q.traffic = q.traffic.Worse(e.Traffic)
		q.kinds[e.Transport] += e.Channels
	}
	out := make([]pair, 0, len(byCell))
	for _, q := range byCell {
		out = append(out, *q)
	}
	slices.SortFunc(out, func(a, b pair) int {
		if a.traffic != b.traffic {
			if a.traffic.Worse(b.traffic) == b.traffic {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return out
}
