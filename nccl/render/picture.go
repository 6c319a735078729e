package render

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Sizes of the pictures, in pixels. A picture is at most canvas wide; a cell
// that shows trouble is never smaller than alarm, so that one bad pair among a
// quarter of a million stays visible.
const (
	canvas      = 1040.0
	matrixSide  = 720.0
	largestCell = 36.0
	alarm       = 8.0
	labelWidth  = 190.0
	// maxRanks bounds what is drawn and listed.
	maxRanks = 1 << 14
	// maxMatrix is the most rows that a matrix has; beyond it neighbors share one.
	maxMatrix = 512
	// rankMatrix is the most ranks for which the matrix of ranks is drawn too.
	rankMatrix = 128
	// labeled is the most rows that carry a name each.
	labeled = 32
)

// cell is a rectangle of a picture.
type cell struct {
	X, Y, W, H float64
	Class      class
	Title      string
	Text       string // short, drawn inside; "" for none
}

// label is a text beside a picture.
type label struct {
	X, Y float64
	Text string
	// Turned writes it upwards; Right ends it at X.
	Turned, Right bool
}

// line is a thin rule, such as between nodes.
type line struct {
	X1, Y1, X2, Y2 float64
}

// picture is one SVG.
type picture struct {
	Name, About   string
	Width, Height float64
	Cells         []cell
	Labels        []label
	Lines         []line
	Frame         *cell
}

// rankMap draws every rank as a tile, node by node.
func rankMap(list []node) picture {
	ranks, widest := 0, 1
	for _, n := range list {
		ranks += len(n.Tiles)
		widest = max(widest, len(n.Tiles))
	}
	p := picture{Name: "Ranks, node by node", About: "One tile a rank, colored by the worst of its connections."}
	if len(list) <= labeled {
		p.rows(list, min(largestCell, (canvas-labelWidth)/float64(widest)))
	} else {
		p.blocks(list, widest)
	}
	return p
}

// rows draws one node a row, with its name.
func (p *picture) rows(list []node, size float64) {
	for i, n := range list {
		y := float64(i) * (size + 6)
		p.Labels = append(p.Labels, label{X: 0, Y: y + size/2 + 4, Text: shorten(n.Name, 28)})
		for j, t := range n.Tiles {
			c := cell{X: labelWidth + float64(j)*size, Y: y, W: size - 2, H: size - 2, Class: t.Class, Title: t.Title}
			if size >= 20 {
				c.Text = itoa(t.Rank)
			}
			p.Cells = append(p.Cells, c)
			p.Width = max(p.Width, c.X+size)
		}
		p.Height = y + size
	}
}

// blocks draws many nodes side by side, each a strip of tiles, with the number
// of the first node before each row.
func (p *picture) blocks(list []node, widest int) {
	const gap, left = 10.0, 70.0
	size := 9.0
	strip := float64(widest)*size + gap
	perRow := max(1, int((canvas-left)/strip))
	for i, n := range list {
		x, y := left+float64(i%perRow)*strip, float64(i/perRow)*(size+6)
		if i%perRow == 0 {
			p.Labels = append(p.Labels, label{X: 0, Y: y + size, Text: "node " + itoa(i)})
		}
		for j, t := range n.Tiles {
			p.Cells = append(p.Cells, cell{X: x + float64(j)*size, Y: y, W: size - 1, H: size - 1, Class: t.Class, Title: t.Title})
		}
		p.Height = y + size
	}
	p.Width = canvas
}

// pair is a cell of a matrix before it is drawn.
type pair struct {
	from, to int
	class    class
	kinds    map[string]int
}

// matrix draws who sends to whom: rows send, columns receive. names are the
// rows' names; at maps a rank to its row, or to -1.
func matrix(name, what string, edges []report.Edge, names []string, at func(rank int) int, providers map[int]string) picture {
	group := (len(names) + maxMatrix - 1) / maxMatrix
	group = max(1, group)
	n := (len(names) + group - 1) / group
	p := picture{
		Name:  name,
		About: "Rows send, columns receive; a cell shows the worst of its connections. Empty cells have none.",
	}
	if group > 1 {
		p.About += " A row stands for " + itoa(group) + " neighboring " + what + "s."
	}
	size := min(largestCell, matrixSide/float64(n))
	named := n <= labeled
	left, top := 60.0, 24.0
	if named {
		left, top = room(names, 26), room(names, 17)
	}
	side := size * float64(n)
	p.Frame = &cell{X: left, Y: top, W: side, H: side}
	p.Width, p.Height = left+side+6, top+side+6
	p.axes(names, group, n, size, left, top, named)
	for _, q := range pairs(edges, at, providers, group) {
		c := cell{
			X: left + float64(q.to)*size, Y: top + float64(q.from)*size, W: size, H: size, Class: q.class,
			Title: names[q.from*group] + " to " + names[q.to*group] + kindsText(q.kinds),
		}
		if q.class != classLocal && q.class != classEFA && size < alarm {
			c.X, c.Y, c.W, c.H = c.X-(alarm-size)/2, c.Y-(alarm-size)/2, alarm, alarm
		}
		if size > 6 {
			c.X, c.Y, c.W, c.H = c.X+1, c.Y+1, c.W-2, c.H-2
		}
		p.Cells = append(p.Cells, c)
	}
	return p
}

// room is the width that names need beside a picture.
func room(names []string, most int) float64 {
	longest := 0
	for _, n := range names {
		longest = max(longest, min(most, len([]rune(n))))
	}
	return 18 + 6.9*float64(longest)
}

// axes names the rows and columns, or counts them where they are too many.
func (p *picture) axes(names []string, group, n int, size, left, top float64, named bool) {
	step := 1
	if !named {
		step = max(1, (n/8+7)/8*8)
	}
	for i := 0; i < n; i += step {
		middle := (float64(i) + 0.5) * size
		text := itoa(i * group)
		if named {
			text = shorten(names[i*group], 26)
		}
		p.Labels = append(p.Labels, label{X: left - 8, Y: top + middle + 4, Text: text, Right: true})
		if named {
			p.Labels = append(p.Labels, label{X: left + middle + 4, Y: top - 6, Text: shorten(text, 17), Turned: true})
		} else {
			p.Labels = append(p.Labels, label{X: left + middle, Y: top - 6, Text: text})
		}
		if i > 0 {
			at := float64(i) * size
			p.Lines = append(p.Lines,
				line{left + at, top, left + at, top + size*float64(n)}, line{left, top + at, left + size*float64(n), top + at})
		}
	}
}

// pairs joins edges that fall into one cell; the worst come last, so that they
// are drawn on top.
func pairs(edges []report.Edge, at func(int) int, providers map[int]string, group int) []pair {
	byCell := map[[2]int]*pair{}
	for _, e := range edges {
		from, to := at(e.From), at(e.To)
		if from < 0 || to < 0 {
			continue
		}
		k := [2]int{from / group, to / group}
		q := byCell[k]
		if q == nil {
			q = &pair{from: k[0], to: k[1], class: classIdle, kinds: map[string]int{}}
			byCell[k] = q
		}
		provider := providers[e.From]
		if provider == "" {
			provider = providers[e.To]
		}
		q.class = heavier(q.class, classOf(e.Transport, provider))
		q.kinds[e.Transport] += e.Channels
	}
	out := make([]pair, 0, len(byCell))
	for _, q := range byCell {
		out = append(out, *q)
	}
	slices.SortFunc(out, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.class.weight(), b.class.weight()), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return out
}

func kindsText(kinds map[string]int) string {
	text := ""
	for _, k := range sortedKeys(kinds) {
		text += ", " + itoa(kinds[k]) + " x " + k
	}
	return text
}

// shorten keeps the end of a long name, which is what tells hosts apart.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return "…" + string(r[len(r)-most+1:])
}

// Extra is drawn over a cell: its text, and a sign for what is not on EFA or not
// there, so that color is never the only sign.
func (c cell) Extra() template.HTML {
	out := ""
	x, y, right, bottom := num(c.X), num(c.Y), num(c.X+c.W), num(c.Y+c.H)
	switch {
	case c.W < 7:
	case c.Text != "" && (c.Class == classOther || c.Class == classMissing):
		out = `<path class="notch" d="M` + num(c.X+c.W-11) + " " + y + `h11v11z"/>`
	case c.Class == classOther:
		out = `<path class="stripe" d="M` + x + " " + bottom + "L" + right + " " + y + `"/>`
	case c.Class == classMissing:
		out = `<path class="stripe" d="M` + x + " " + bottom + "L" + right + " " + y + "M" + x + " " + y + "L" + right + " " + bottom + `"/>`
	}
	if c.Text != "" {
		out += `<text class="in ` + string(c.Class) + `" x="` + num(c.X+c.W/2) + `" y="` + num(c.Y+c.H/2+4) + `">` +
			template.HTMLEscapeString(c.Text) + `</text>`
	}
	//nolint:gosec // built of numbers, class names and an escaped text
	return template.HTML(out)
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', -1, 32) }
