package render

import (
	"html/template"
	"strconv"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

// Sizes of the pictures, in pixels. A picture is at most canvas wide. A cell that needs a look is
// never smaller than badCell, so that one bad pair among a quarter of a million stays visible.
const (
	canvas      = 1040.0
	largestCell = 36.0
	badCell     = 8.0
	labelWidth  = 190.0
	// labeled is the most rows that have a name each.
	labeled = 32
)

// cell is a rectangle of a picture.
type cell struct {
	X, Y, W, H float64
	Traffic    report.Traffic
	Title      string
	Text       string // short, drawn inside; "" for none
}

// label is a text next to a picture.
type label struct {
	X, Y float64
	Text string
	// Turned writes the text upwards, Right ends it at X.
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
	widest := 1
	for _, n := range list {
		widest = max(widest, len(n.Tiles))
	}
	p := picture{
		Name: "Ranks, node by node", About: "One tile for each rank, colored by the worst of its connections.",
	}
	if len(list) <= labeled {
		p.rows(list, min(largestCell, (canvas-labelWidth)/float64(widest)))
	} else {
		p.blocks(list, widest)
	}
	return p
}

// rows draws one node in each row, with its name.
func (p *picture) rows(list []node, size float64) {
	for i, n := range list {
		y := float64(i) * (size + 6)
		p.Labels = append(p.Labels, label{X: 0, Y: y + size/2 + 4, Text: shorten(n.Name, 28)})
		for j, t := range n.Tiles {
			c := cell{
				X: labelWidth + float64(j)*size, Y: y, W: size - 2, H: size - 2,
				Traffic: t.Traffic, Title: t.Title,
			}
			if size >= 20 {
				c.Text = itoa(t.Rank)
			}
			p.Cells = append(p.Cells, c)
			p.Width = max(p.Width, c.X+size)
		}
		p.Height = y + size
	}
}

// blocks draws many nodes side by side, each as a strip of tiles, with the number of the first node
// at the left of each row.
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
			p.Cells = append(p.Cells, cell{
				X: x + float64(j)*size, Y: y, W: size - 1, H: size - 1,
				Traffic: t.Traffic, Title: t.Title,
			})
		}
		p.Height = y + size
	}
	p.Width = canvas
}

// Extra returns what is drawn on top of a cell: its text and, because color must not be the only
// difference, a pattern if it is not on EFA or not in evidence.
func (c cell) Extra() template.HTML {
	right, bottom := num(c.X+c.W), num(c.Y+c.H)
	x, y := num(c.X), num(c.Y)
	rising := "M" + x + " " + bottom + "L" + right + " " + y
	falling := "M" + x + " " + y + "L" + right + " " + bottom
	off := c.Traffic == report.TrafficOther
	out := ""
	switch {
	case c.W < 7 || !off && c.Traffic != missing:
	case c.Text != "":
		out = `<path class="notch" d="M` + num(c.X+c.W-11) + " " + y + `h11v11z"/>`
	case off:
		out = `<path class="stripe" d="` + rising + `"/>`
	default:
		out = `<path class="stripe" d="` + rising + falling + `"/>`
	}
	if c.Text != "" {
		out += `<text class="in ` + string(c.Traffic) + `" x="` + num(c.X+c.W/2) +
			`" y="` + num(c.Y+c.H/2+4) + `">` + template.HTMLEscapeString(c.Text) + `</text>`
	}
	return template.HTML(out) //nolint:gosec // made of numbers, class names and an escaped text
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', -1, 32) }
