// Package chart draws small charts: as SVG for pages without scripts, and as text for Markdown and
// terminals.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Chart is one value for each label.
type Chart struct {
	// Title names the chart, About explains it in a sentence.
	Title string `json:"title"`
	About string `json:"about"`
	// Unit is that of the values, such as "steps/s".
	Unit string `json:"unit"`
	// Axis is what the labels are, such as "message size"; empty for names.
	Axis string `json:"axis,omitempty"`
	// Line connects the points. Otherwise each is a bar.
	Line   bool    `json:"line"`
	Points []Point `json:"points"`
	// Limit is drawn as a dashed line; nil for none.
	Limit *Point `json:"limit,omitempty"`
}

// Point is a value and its label.
type Point struct {
	Label string  `json:"label"`
	Value float64 `json:"value"`
}

// Sizes of the SVG, in pixels.
const (
	width, height                = 720.0, 240.0
	left, right, top, bottom     = 78.0, 16.0, 22.0, 44.0
	plotWidth, plotHeight        = width - left - right, height - top - bottom
	mostLabels, ticks, barFilled = 12, 4, 0.62
)

// SVG returns the chart as an SVG element. Its colors are classes of a page of package render.
func (c Chart) SVG() template.HTML {
	var b strings.Builder
	step, highest := c.scale()
	fmt.Fprintf(&b, `<svg role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		template.HTMLEscapeString(c.Title), px(width), px(height), px(width), px(height))
	y := func(value float64) float64 { return top + plotHeight*(1-value/highest) }
	b.WriteString(`<g class="rules">`)
	for value := 0.0; value <= highest*1.001; value += step {
		fmt.Fprintf(&b, `<line x1="%s" y1="%s" x2="%s" y2="%s"/>`, px(left), px(y(value)), px(width-right), px(y(value)))
	}
	b.WriteString(`</g>`)
	for value := 0.0; value <= highest*1.001; value += step {
		text(&b, left-8, y(value)+4, "right", Number(value))
	}
	text(&b, 0, 12, "", c.Unit)
	if c.Axis != "" {
		text(&b, width-right, height-4, "right", c.Axis)
	}
	slot := plotWidth / float64(max(1, len(c.Points)))
	x := func(i int) float64 { return left + (float64(i)+0.5)*slot }
	if c.Line {
		c.line(&b, x, y)
	} else {
		c.bars(&b, x, y, slot)
	}
	every := (len(c.Points) + mostLabels - 1) / mostLabels
	for i, p := range c.Points {
		if i%every == 0 {
			text(&b, x(i), height-bottom+18, "middle", p.Label)
		}
	}
	if c.Limit != nil {
		at := y(c.Limit.Value)
		fmt.Fprintf(&b, `<line class="limit" x1="%s" y1="%s" x2="%s" y2="%s"/>`, px(left), px(at), px(width-right), px(at))
		text(&b, width-right, at-5, "right", fmt.Sprintf("%s: %s %s", c.Limit.Label, Number(c.Limit.Value), c.Unit))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers, own class names and escaped texts
}

func (c Chart) line(b *strings.Builder, x func(int) float64, y func(float64) float64) {
	b.WriteString(`<polyline class="curve" points="`)
	for i, p := range c.Points {
		fmt.Fprintf(b, "%s,%s ", px(x(i)), px(y(p.Value)))
	}
	b.WriteString(`"/>`)
	const mostDots = 48 // more would hide the line
	if len(c.Points) > mostDots {
		return
	}
	for i, p := range c.Points {
		fmt.Fprintf(b, `<circle class="dot" cx="%s" cy="%s" r="3"><title>%s</title></circle>`,
			px(x(i)), px(y(p.Value)), c.title(p))
	}
}

func (c Chart) bars(b *strings.Builder, x func(int) float64, y func(float64) float64, slot float64) {
	wide := math.Min(slot*barFilled, 90)
	for i, p := range c.Points {
		fmt.Fprintf(b, `<rect class="efa" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
			px(x(i)-wide/2), px(y(p.Value)), px(wide), px(top+plotHeight-y(p.Value)), c.title(p))
		text(b, x(i), y(p.Value)-5, "middle", Number(p.Value))
	}
}

func (c Chart) title(p Point) string {
	return template.HTMLEscapeString(fmt.Sprintf("%s: %s %s", p.Label, Number(p.Value), c.Unit))
}

func text(b *strings.Builder, x, y float64, class, value string) {
	fmt.Fprintf(b, `<text class="%s" x="%s" y="%s">%s</text>`, class, px(x), px(y), template.HTMLEscapeString(value))
}

// highest is the largest value; 1 where none is above 0.
func (c Chart) highest() float64 {
	highest := 0.0
	for _, p := range c.Points {
		highest = math.Max(highest, p.Value)
	}
	if c.Limit != nil {
		highest = math.Max(highest, c.Limit.Value)
	}
	if highest <= 0 {
		return 1
	}
	return highest
}

// scale returns the distance of the rules and the value at the top, both round numbers.
func (c Chart) scale() (step, highest float64) {
	highest = c.highest()
	magnitude := math.Pow(10, math.Floor(math.Log10(highest/ticks)))
	for _, factor := range []float64{1, 2, 2.5, 5, 10} {
		step = factor * magnitude
		if step*ticks >= highest {
			break
		}
	}
	return step, step * math.Ceil(highest/step)
}

// textBar is the length of the longest bar of a text chart, textRows the most rows of it.
const textBar, textRows = 40, 24

// Text returns the chart as lines of text, one for each label. Many points are joined to textRows
// means.
func (c Chart) Text() string {
	points := c.joined()
	highest := c.highest()
	longest := 0
	for _, p := range points {
		longest = max(longest, utf8.RuneCountInString(p.Label))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", c.Title, c.Unit)
	for _, p := range points {
		bar := strings.Repeat("█", int(math.Round(textBar*p.Value/highest)))
		fmt.Fprintf(&b, "%-*s %s %s\n", longest, p.Label, bar, Number(p.Value))
	}
	if c.Limit != nil {
		fmt.Fprintf(&b, "%s: %s\n", c.Limit.Label, Number(c.Limit.Value))
	}
	return b.String()
}

func (c Chart) joined() []Point {
	if len(c.Points) <= textRows {
		return c.Points
	}
	size := (len(c.Points) + textRows - 1) / textRows
	var joined []Point
	for group := range slices.Chunk(c.Points, size) {
		mean := 0.0
		for _, p := range group {
			mean += p.Value / float64(len(group))
		}
		joined = append(joined, Point{Label: group[0].Label + "-" + group[len(group)-1].Label, Value: mean})
	}
	return joined
}

// Number returns a number with four digits that count.
func Number(value float64) string {
	if value == math.Trunc(value) && math.Abs(value) < 1e6 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}

func px(value float64) string { return strconv.FormatFloat(math.Round(value*10)/10, 'f', -1, 64) }
