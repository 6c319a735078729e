package schema

import (
	"reflect"
	"strings"
)

// Carry copies properties that the inputs do not contain into an updated resource: those that AWS
// computed, those that AWS chose by default, and the account's own fields.
func Carry[T any](old, updated *T) {
	carry(reflect.ValueOf(old).Elem(), reflect.ValueOf(updated).Elem())
}

func carry(old, updated reflect.Value) {
	t := old.Type()
	for i := range t.NumField() {
		from, to := old.Field(i), updated.Field(i)
		if t.Field(i).Anonymous {
			carry(from, to)
			continue
		}
		marks := strings.Split(t.Field(i).Tag.Get("aws"), ",")
		switch {
		case contains(marks, "computed"), contains(marks, "hidden"):
			to.Set(from)
		case contains(marks, "default") && to.IsZero():
			to.Set(from)
		case from.Kind() == reflect.Struct:
			carry(from, to)
		case isObjectPointer(from) && !from.IsNil() && !to.IsNil():
			carry(from.Elem(), to.Elem())
		}
	}
}

func isObjectPointer(v reflect.Value) bool {
	return v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct
}

func contains(marks []string, mark string) bool {
	for _, m := range marks {
		if m == mark {
			return true
		}
	}
	return false
}
