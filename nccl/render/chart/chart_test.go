package chart_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/render/chart"
)

func points(values ...float64) []chart.Point {
	var list []chart.Point
	for i, value := range values {
		list = append(list, chart.Point{Label: fmt.Sprint(i + 1), Value: value})
	}
	return list
}

func TestSVG(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		chart    chart.Chart
		has, not []string
	}{
		{
			"bars", chart.Chart{Title: "Speed", Unit: "steps/s", Points: []chart.Point{{"EFA", 0.5}, {"TCP", 0.25}}},
			[]string{
				`aria-label="Speed"`, ">EFA<", ">0.25<", "steps/s",
				// The plot is 174 pixels high and ends at 0.6.
				`height="145"><title>EFA: 0.5 steps/s`, `height="72.5"><title>TCP: 0.25 steps/s`,
			},
			[]string{"polyline", "limit"},
		},
		{
			"a line with a limit",
			chart.Chart{Title: "Bandwidth", Unit: "GB/s", Line: true, Points: points(1, 4), Limit: &chart.Point{Label: "line rate", Value: 5}},
			[]string{`<polyline class="curve"`, `class="limit"`, ">line rate: 5 GB/s<", "<title>2: 4 GB/s</title>"},
			[]string{`<rect`},
		},
		{
			"many points have few labels", chart.Chart{Line: true, Points: points(make([]float64, 1000)...)},
			[]string{">1<", ">85<"}, []string{">2<", "<circle"},
		},
		{"no points", chart.Chart{Title: "none"}, []string{"none"}, []string{"NaN"}},
		{
			"texts of others", chart.Chart{Title: `"><script>`, Unit: "<b>", Points: []chart.Point{{"</svg>", 1}}},
			[]string{"&lt;script&gt;"}, []string{"<script", "<b>", ">\">"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			svg := string(test.chart.SVG())
			for _, want := range test.has {
				assert.Contains(t, svg, want)
			}
			for _, other := range append(test.not, "NaN", "Inf") {
				assert.NotContains(t, svg, other)
			}
			decoder := xml.NewDecoder(strings.NewReader(svg))
			for {
				_, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err, "it is XML")
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	bars := chart.Chart{Title: "Speed", Unit: "steps/s", Points: []chart.Point{{"EFA", 0.5}, {"TCP", 0.25}}}
	assert.Equal(t, "Speed (steps/s)\nEFA "+strings.Repeat("█", 40)+" 0.5\nTCP "+strings.Repeat("█", 20)+" 0.25\n",
		bars.Text())
	many := chart.Chart{Title: "Steps", Unit: "s", Points: points(make([]float64, 1000)...)}
	for i := range many.Points {
		many.Points[i].Value = float64(i%2) + 1
	}
	text := many.Text()
	assert.Equal(t, 1+24, strings.Count(text, "\n"))
	assert.Contains(t, text, "1-42 ")
	assert.Contains(t, text, " 1.5\n", "the mean")
	assert.Contains(t, text, "967-1000 ")
}
