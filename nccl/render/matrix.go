package render

import (
	"cmp"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/nccl/report"
)

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
