// Package usage checks the arguments of cobra commands against their usage lines. Its errors name
// the command, what it needs and where its help is.
package usage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Install gives root and every command below it an argument check and an error for unknown flags.
// A command keeps the check that it has; one that parses its own flags is left alone. Call it when
// the tree of commands is complete.
func Install(root *cobra.Command) {
	root.SetFlagErrorFunc(withHelp)
	install(root)
	// A group only rejects arguments, so its usage line does not show it as a command.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"{{if .Runnable}}", `{{if and .Runnable (not (index .Annotations "`+group+`"))}}`, 1))
}

// group is the annotation of commands that only group other commands.
const group = "group"

func install(command *cobra.Command) {
	for _, child := range command.Commands() {
		install(child)
	}
	if command.DisableFlagParsing || command.Args != nil {
		return
	}
	command.Args = Check
	if command.Runnable() {
		return
	}
	// Cobra checks arguments only of commands that run.
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	if command.Annotations == nil {
		command.Annotations = map[string]string{}
	}
	command.Annotations[group] = "true"
}

// Check is a cobra.PositionalArgs. The usage line holds the rules: `pin [TAG]` takes at most one
// argument, `verdict [flags] PATH...` one or more. A word behind a flag is the flag's value.
func Check(command *cobra.Command, args []string) error {
	required, most := parse(command.Use)
	switch {
	case len(args) < len(required):
		return withHelp(command,
			fmt.Errorf("missing argument %s", strings.Join(required[len(args):], " ")))
	case most < 0 || len(args) <= most:
		return nil
	case command.HasAvailableSubCommands():
		return withHelp(command, unknownCommand(command, args[0]))
	case most == 0:
		return withHelp(command, fmt.Errorf("unexpected argument %q: the command takes none", args[0]))
	default:
		return withHelp(command,
			fmt.Errorf("unexpected argument %q: the command takes at most %d", args[most], most))
	}
}

// parse reads the arguments from a usage line: those that are required, and the most that the
// command takes, -1 for any number.
func parse(use string) (required []string, most int) {
	words := strings.Fields(use)
	for i, word := range words {
		name, optional := strings.CutPrefix(word, "[")
		name = strings.TrimSuffix(name, "]")
		isFlag := strings.HasPrefix(name, "-") || name == "flags"
		isValue := i > 0 && strings.HasPrefix(strings.TrimPrefix(words[i-1], "["), "-")
		if i == 0 || isFlag || isValue {
			continue
		}
		if !optional {
			required = append(required, name)
		}
		if strings.HasSuffix(name, "...") {
			return required, -1
		}
		most++
	}
	return required, most
}

func unknownCommand(command *cobra.Command, name string) error {
	var names []string
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	command.SuggestionsMinimumDistance = 2 // cobra's own default, which it sets too late for us
	if near := command.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", name, strings.Join(near, " or "))
	}
	slices.Sort(names)
	return fmt.Errorf("unknown command %q: must be one of %s", name, strings.Join(names, ", "))
}

// withHelp adds the command's name, usage line and help command to an error.
func withHelp(command *cobra.Command, err error) error {
	if command.HasParent() {
		name := strings.TrimPrefix(command.CommandPath(), command.Root().Name()+" ")
		err = fmt.Errorf("%s: %w", name, err)
	}
	line := command.UseLine()
	if command.Annotations[group] != "" {
		line = command.CommandPath() + " COMMAND"
	}
	return fmt.Errorf("%w\nusage: %s\nhelp:  %s --help", err, line, command.CommandPath())
}
