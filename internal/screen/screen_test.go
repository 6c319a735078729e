package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ray-train-efa/ray-train-efa/internal/screen"
)

func TestFit(t *testing.T) {
	t.Parallel()
	many := strings.Split(strings.Repeat("line\n", 30), "\n")
	long := strings.Repeat("x", 3*screen.Columns)
	tests := []struct {
		name          string
		lines, ending []string
		want          string
	}{
		{"short", []string{"a", "b"}, []string{"c"}, "a\nb\nc"},
		{"too many lines", many, []string{"end"}, strings.Repeat("line\n", 18) + "... 13 more lines in the report\nend"},
		{"a long line", []string{long}, nil, long[:screen.Columns-3] + "..."},
		{"a long command", []string{"next: " + long}, nil, "next: " + long},
		{"a long cause", []string{"cause: " + long}, nil, "cause: " + long},
		{"a long path", nil, []string{"report: " + long}, "report: " + long},
		{"colors, bells and breaks", []string{"\x1b[31mred\x1b[0m\a\tand\nmore"}, nil, "red and more"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, screen.Fit(test.lines, test.ending, "in the report"))
		})
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"empty", "", []string{""}},
		{"short", "a b", []string{"a b"}},
		{"between words", "aaa bbb ccc", []string{"aaa bbb", "ccc"}},
		{"a long word", "aaaaaaaaaaaaaa b", []string{"aaaaaaaaaaaaaa", "b"}},
		{"too much", "aaaaaa bbbbbb cccccc", []string{"aaaaaa", "bbbbbb ..."}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, screen.Wrap(test.in, 8, 2))
		})
	}
}
