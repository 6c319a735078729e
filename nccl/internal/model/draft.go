package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// key names a communicator in the same way in all its processes. Pointers are per process, so it is
// the commId; for a split one without, its parent's key, the split's number and the color; for NCCL
// 2.23, which prints no number, the color and size, and for NCCL before 2.16, which prints nothing,
// the size alone: such claims are counted, see instances. Splits cannot be numbered here, because
// ranks that are not part of a split (NCCL_SPLIT_NOCOLOR) print no line about it that names the
// parent.
func (v *View) key() string {
	switch {
	case v.HasID:
		return string(strconv.AppendUint([]byte("0x"), v.id, 16))
	case v.isSub && v.parent == nil:
		return fmt.Sprintf("split of unknown %x in %s:%d (%s)", v.ptr, v.Proc.Host, v.Proc.PID, v.Proc.File.Name)
	case v.isSub && v.count >= 0:
		return fmt.Sprintf("%s/%d/%d", v.parent.key(), v.count, v.color)
	case v.isSub:
		return fmt.Sprintf("%s/#/%d of size %d", v.parent.key(), v.color, v.size)
	default:
		return fmt.Sprintf("size %d", v.size)
	}
}

// draft collects the ranks that claim one key.
type draft struct {
	key    string
	byRank map[int32][]*Rank
	splits bool // they are splits of one color, without a number
	pseudo bool // several communicators may have the key
}

func (d *draft) add(m *View) {
	d.splits = m.isSub && m.count < 0 && !m.HasID
	d.pseudo = m.isSub && m.count < 0 || !m.HasID && !m.isSub
	for _, c := range d.byRank[m.Rank] {
		if c.Host == m.Proc.Host && c.PID == m.Proc.PID && c.ptr == m.ptr && c.last() != m.Proc {
			c.Views = append(c.Views, m)
			return
		}
	}
	d.byRank[m.Rank] = append(d.byRank[m.Rank], &Rank{
		Rank: m.Rank, Host: m.Proc.Host, PID: m.Proc.PID, ptr: m.ptr, Views: []*View{m},
	})
}

// bySize makes communicators of the claims. NCCL 2.18 to 2.22 derives the id of a split
// communicator from its parent and color alone, so that later splits of another size have the same.
// They are distinguished where each size has all its ranks; otherwise the sizes contradict each
// other.
func (d *draft) bySize() []*Communicator {
	parts := map[int32]*draft{}
	for r, claims := range d.byRank {
		for _, rk := range claims {
			size := rk.Views[0].size
			p := parts[size]
			if p == nil {
				p = &draft{key: fmt.Sprintf("%s of size %d", d.key, size), byRank: map[int32][]*Rank{}, splits: d.splits, pseudo: d.pseudo}
				parts[size] = p
			}
			p.byRank[r] = append(p.byRank[r], rk)
		}
	}
	if len(parts) == 1 {
		return d.instances()
	}
	var out []*Communicator
	for _, size := range slices.Sorted(maps.Keys(parts)) {
		if len(parts[size].byRank) != int(size) {
			return d.instances()
		}
		out = append(out, parts[size].instances()...)
	}
	return out
}

// instances makes communicators of claims of one size. A rank that is claimed
// several times means as many communicators, of which each needs all its
// ranks: two runs may share an id, splits of one color do in NCCL 2.18 to 2.22,
// and 2.23 and releases before 2.16 print none.
func (d *draft) instances() []*Communicator {
	ranks := make([]int32, 0, len(d.byRank))
	n, stale := 1, false
	for r, claims := range d.byRank {
		ranks = append(ranks, r)
		n = max(n, len(claims))
		for _, rk := range claims[1:] {
			stale = stale || rk.Views[0].Proc != claims[0].Views[0].Proc
		}
	}
	slices.Sort(ranks)
	var mixed *mixture
	if d.splits && n > 1 {
		mixed = &mixture{byRank: d.byRank}
	}
	out := make([]*Communicator, n)
	for k := range out {
		c := &Communicator{Key: d.key, Nodes: -1, Stale: stale && !d.pseudo}
		if n > 1 {
			c.Key = fmt.Sprintf("%s (%d of %d)", d.key, k+1, n)
		}
		for _, r := range ranks {
			if k < len(d.byRank[r]) {
				c.take(d.byRank[r][k])
			}
		}
		c.mixed = mixed
		out[k] = c
	}
	return out
}
