package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
)

// Table holds the resources of one type by AWS id.
type Table[T any] map[string]*T

// IDs returns the ids in order, so that iterations are the same in every run.
func (t Table[T]) IDs() []string { return slices.Sorted(maps.Keys(t)) }

// Where returns the ids of the resources for which selects returns true, in order.
func (t Table[T]) Where(selects func(row *T) bool) []string {
	return slices.DeleteFunc(t.IDs(), func(id string) bool { return !selects(t[id]) })
}

// Any returns the first id for which selects returns true, or "".
func (t Table[T]) Any(selects func(row *T) bool) string {
	for _, id := range t.IDs() {
		if selects(t[id]) {
			return id
		}
	}
	return ""
}

// DropWhere drops the resources for which selects returns true, with their parts.
func DropWhere[T any](o *Op, token Token[T], selects func(row *T) bool) {
	for _, id := range token.In(o).Where(selects) {
		o.Drop(token.String(), id)
	}
}

// Drop drops a resource and its parts without any check.
func (o *Op) Drop(token, id string) {
	if found, ok := o.types[token]; ok {
		found.drop(o, id)
	}
}

// Blocker returns the id of a resource that prevents the deletion of another one, or "".
func (o *Op) Blocker(id string) string {
	for _, token := range slices.Sorted(maps.Keys(o.types)) {
		if blocker := o.types[token].blocker(o, id); blocker != "" {
			return blocker
		}
	}
	return ""
}

// Exists reports whether a service has a resource with an id.
func (o *Op) Exists(service, id string) bool {
	for _, one := range o.types {
		if one.service() == service && one.has(o, id) {
			return true
		}
	}
	return false
}

func (r Type[T]) load(stored json.RawMessage) (any, error) {
	rows := Table[T]{}
	if len(stored) == 0 {
		return rows, nil
	}
	if err := json.Unmarshal(stored, &rows); err != nil {
		return nil, fmt.Errorf("decoding the table of %s: %w", r.Token, err)
	}
	return rows, nil
}

func (r Type[T]) has(o *Op, id string) bool {
	_, ok := r.Token.In(o)[id]
	return ok
}

func (r Type[T]) drop(o *Op, id string) {
	delete(r.Token.In(o), id)
	if r.Deleted != nil {
		r.Deleted(o, id)
	}
	for _, one := range o.types {
		one.dropChildren(o, string(r.Token), id)
	}
	for _, one := range o.types {
		one.background(o)
	}
}

func (r Type[T]) dropChildren(o *Op, parent, id string) {
	if r.ParentID == nil || r.Parent != parent {
		return
	}
	for _, child := range r.Token.In(o).Where(func(row *T) bool { return r.ParentID(row) == id }) {
		r.drop(o, child)
	}
}

func (r Type[T]) blocker(o *Op, id string) string {
	if r.Blocks == nil {
		return ""
	}
	return r.Token.In(o).Any(func(row *T) bool { return r.Blocks(row) == id })
}

func (r Type[T]) background(o *Op) {
	if r.Background == nil {
		return
	}
	for _, id := range r.Token.In(o).IDs() {
		r.Background(o, id, r.Token.In(o)[id])
	}
}

func (r Type[T]) items(o *Op) []api.Item {
	if r.Item == nil {
		return nil
	}
	var items []api.Item
	for _, id := range r.Token.In(o).IDs() {
		item := r.Item(o, r.Token.In(o)[id])
		item.Type, item.ID = string(r.Token), id
		items = append(items, item)
	}
	return items
}

// HoldsName returns an item without hourly cost that reserves a name or a quota.
func HoldsName[T any](*Op, *T) api.Item { return api.Item{BlocksName: true} }

// Bills returns an item with an hourly cost.
func Bills(hourlyUSD float64, note string) api.Item {
	return api.Item{Bills: true, BlocksName: true, HourlyUSD: hourlyUSD, Note: note}
}
