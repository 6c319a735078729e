package usage_test

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/internal/usage"
)

// tool is a root command with a command of each kind.
func tool() *cobra.Command {
	command := func(use string, children ...*cobra.Command) *cobra.Command {
		c := &cobra.Command{Use: use}
		if len(children) == 0 {
			c.RunE = func(*cobra.Command, []string) error { return nil }
		}
		c.AddCommand(children...)
		return c
	}
	foreign := command("foreign")
	foreign.DisableFlagParsing = true
	own := command("own")
	own.Args = cobra.ArbitraryArgs
	pin := command("pin [TAG]")
	root := command("tool", command("image", pin), command("verdict [flags] PATH..."),
		command("lose --dir DIR [--speed N] NAME"), command("stop --dir DIR"), foreign, own)
	root.PersistentFlags().String("dir", "", "folder")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(io.Discard)
	usage.Install(root)
	return root
}

func TestInstall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says string // "" for no error
	}{
		{"one of at most one", []string{"image", "pin", "v1"}, ""},
		{"none of at most one", []string{"image", "pin"}, ""},
		{"two of at most one", []string{"image", "pin", "v1", "v2"},
			"image pin: unexpected argument \"v2\": the command takes at most 1\n" +
				"usage: tool image pin [TAG] [flags]\nhelp:  tool image pin --help"},
		{"any number", []string{"verdict", "a", "b", "c"}, ""},
		{"none of one or more", []string{"verdict"}, "verdict: missing argument PATH...\n"},
		{"a value is no argument", []string{"lose", "--dir", "x"}, "lose: missing argument NAME\n"},
		{"the argument", []string{"lose", "--dir", "x", "cluster"}, ""},
		{"takes none", []string{"stop", "x"}, "stop: unexpected argument \"x\": the command takes none\n"},
		{"unknown flag", []string{"stop", "--dri", "x"}, "stop: unknown flag: --dri\nusage: tool stop --dir DIR [flags]\n"},
		{"a group alone prints its help", []string{"image"}, ""},
		{"a near miss", []string{"verdit"}, "unknown command \"verdit\": did you mean verdict?\nusage: tool COMMAND\nhelp:  tool --help"},
		{"in a group", []string{"image", "push"}, `image: unknown command "push": must be one of pin`},
		{"parses its own flags", []string{"foreign", "x", "--y"}, ""},
		{"has its own check", []string{"own", "x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := tool()
			root.SetArgs(c.args)
			err := root.Execute()
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.True(t, strings.HasPrefix(err.Error(), c.says), err.Error())
		})
	}
}

func TestAGroupsUsageNamesItsCommands(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	root := tool()
	root.SetOut(&out)
	root.SetArgs([]string{"image", "--help"})
	require.NoError(t, root.Execute())
	assert.Contains(t, out.String(), "Usage:\n  tool image [command]\n")
	assert.NotContains(t, out.String(), "tool image [flags]")
}
