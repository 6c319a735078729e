package imagepin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setting is one key of a stack's configuration and its new value.
type setting struct{ key, value string }

// edit sets values below `config` in a stack's settings. It uses the parser to
// find the lines and changes only those: comments, order, quoting and empty lines
// of everything else stay byte for byte.
func edit(content []byte, wanted []setting) ([]byte, error) {
	for _, s := range wanted {
		edited, err := set(content, s)
		if err != nil {
			return nil, err
		}
		content = edited
	}
	return content, nil
}

func set(content []byte, s setting) ([]byte, error) {
	// What Pulumi leaves of a settings file whose last setting was removed.
	if string(bytes.TrimSpace(content)) == "{}" {
		content = nil
	}
	root, config, err := configNode(content)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(content), "\n")
	switch {
	case config == nil:
		lines = append(closed(lines), "config:\n", "  "+s.line()+"\n")
	case config.Kind == yaml.ScalarNode && config.Tag == "!!null":
		lines = insert(lines, keyLine(root, config), "  "+s.line()+"\n")
	case config.Kind != yaml.MappingNode:
		return nil, errors.New("config is not a mapping; write one setting per line below it")
	case config.Style&yaml.FlowStyle != 0:
		return nil, errors.New("config is written in braces; write one setting per line below it")
	default:
		lines, err = setInMapping(lines, config, s)
		if err != nil {
			return nil, err
		}
	}
	edited := []byte(strings.Join(lines, ""))
	return edited, check(edited, s)
}

func (s setting) line() string { return s.key + ": " + s.value }

// configNode finds the document's mapping and the value of its key `config`.
func configNode(content []byte) (root, config *yaml.Node, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, nil, fmt.Errorf("reading it as YAML: %w", err)
	}
	if len(document.Content) == 0 {
		return nil, nil, nil
	}
	root = document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil, nil
	}
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		return nil, nil, errors.New("it is not a YAML mapping with one key per line")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "config" {
			return root, root.Content[i+1], nil
		}
	}
	return root, nil, nil
}

func keyLine(root, value *yaml.Node) int {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i+1] == value {
			return root.Content[i].Line
		}
	}
	return root.Line
}

func setInMapping(lines []string, config *yaml.Node, s setting) ([]string, error) {
	first := config.Content[0]
	indent := strings.Repeat(" ", first.Column-1)
	for i := 0; i+1 < len(config.Content); i += 2 {
		key, value := config.Content[i], config.Content[i+1]
		if key.Value != s.key {
			continue
		}
		if value.Kind != yaml.ScalarNode || value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || value.Line != key.Line {
			return nil, fmt.Errorf("%s is not a value on one line: remove it first", s.key)
		}
		if value.Value == s.value {
			return lines, nil
		}
		line := indent + s.line()
		if value.LineComment != "" {
			line += " " + value.LineComment
		}
		lines[key.Line-1] = line + "\n"
		return lines, nil
	}
	return insert(lines, lastLine(config), indent+s.line()+"\n"), nil
}

// lastLine returns the number of the last line of a block node, without comments below it.
func lastLine(node *yaml.Node) int {
	last := node.Line
	if node.Kind == yaml.ScalarNode && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		last += strings.Count(strings.TrimSuffix(node.Value, "\n"), "\n") + 1
	}
	for _, child := range node.Content {
		last = max(last, lastLine(child))
	}
	return last
}

// insert adds a line after the given one, counted from 1.
func insert(lines []string, after int, line string) []string {
	lines = closed(lines)
	after = min(after, len(lines))
	return append(append(append([]string{}, lines[:after]...), line), lines[after:]...)
}

// closed ends the last line and drops the empty rest that splitting leaves.
func closed(lines []string) []string {
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	if !strings.HasSuffix(lines[last], "\n") {
		lines[last] += "\n"
	}
	return lines
}

// check verifies that the edited file has the new value.
func check(content []byte, s setting) error {
	var stack struct {
		Config map[string]yaml.Node `yaml:"config"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(content)).Decode(&stack); err != nil {
		return fmt.Errorf("reading the edited settings back: %w", err)
	}
	if got := stack.Config[s.key]; got.Value != s.value {
		return fmt.Errorf("reading the edited settings back: %s is %q, not %q: set it by hand with pulumi config set", s.key, got.Value, s.value)
	}
	return nil
}
