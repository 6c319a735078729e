package render

import (
	"html/template"
	"strconv"
)

// Sizes of the pictures, in pixels. A picture is at most canvas wide; a cell
// that shows trouble is never smaller than alarm, so that one bad pair among a
// quarter of a million stays visible.
const (
	canvas      = 1040.0
	matrixSide  = 720.0
	largestCell = 36.0
	alarm       = 8.0
	labelWidth  = 190.0
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
