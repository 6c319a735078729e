package tests

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// awsCommand is a command of the AWS CLI that this project prints or documents.
type awsCommand struct {
	Where     string   `json:"where"`
	Service   string   `json:"service"`
	Operation string   `json:"operation"`
	Options   []string `json:"options"`
}

// awsCommandStart is where such a command begins: every operation has a hyphen.
var awsCommandStart = regexp.MustCompile(`\baws ([a-z0-9-]+) ([a-z]+(?:-[a-z]+)+)`)

// awsCommands returns the commands in a text.
func awsCommands(where, text string) []awsCommand {
	var commands []awsCommand
	for _, at := range awsCommandStart.FindAllStringSubmatchIndex(text, -1) {
		command := awsCommand{Where: where, Service: text[at[2]:at[3]], Operation: text[at[4]:at[5]], Options: []string{}}
		rest, _, _ := strings.Cut(text[at[5]:], "\n")
		for _, word := range strings.Fields(rest) {
			if strings.HasPrefix(word, "--") {
				command.Options = append(command.Options, strings.TrimRight(word, ",;.)`'\""))
			}
			if strings.ContainsAny(word, ";|&`") || word == "then" || word == "or" {
				break
			}
		}
		commands = append(commands, command)
	}
	return commands
}

// constants returns the string constants of a Go file, each sum of literals as one.
func constants(t *testing.T, path string) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var all strings.Builder
	var value func(ast.Expr) string
	value = func(expression ast.Expr) string {
		switch e := expression.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
				return text
			}
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				return value(e.X) + value(e.Y)
			}
		}
		return " VALUE "
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			all.WriteString(value(node.(ast.Expr)) + "\n") //nolint:forcetypeassert // both are
			return false
		}
		return true
	})
	return all.String()
}

// checkAWSCommands returns what AWS's own API models, which botocore brings, say against commands.
func checkAWSCommands(t *testing.T, commands []awsCommand) string {
	t.Helper()
	input, err := json.Marshal(commands)
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), "../bin/cloud-judges/bin/python", "testdata/awscommands.py")
	command.Stdin = strings.NewReader(string(input))
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s; next: make judges", out)
	return string(out)
}

func TestPrintedAWSCommandsExist(t *testing.T) {
	t.Parallel()
	var commands []awsCommand
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if name := entry.Name(); name == ".git" || name == "bin" {
				return fs.SkipDir
			}
			return err
		}
		switch {
		case strings.HasSuffix(path, ".md"):
			text, err := os.ReadFile(path)
			commands = append(commands, awsCommands(path, string(text))...)
			return err
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			commands = append(commands, awsCommands(path, constants(t, path))...)
		}
		return nil
	}))
	assert.Greater(t, len(commands), 20)
	assert.Empty(t, checkAWSCommands(t, commands))
}

func TestAWSCommandsAreFoundAndChecked(t *testing.T) {
	t.Parallel()
	found := awsCommands("a", "run `aws ec2 describe-vpcs --region R --filter X`, or aws eks list-groups; --x")
	require.Equal(t, []awsCommand{
		{Where: "a", Service: "ec2", Operation: "describe-vpcs", Options: []string{"--region", "--filter"}},
		{Where: "a", Service: "eks", Operation: "list-groups", Options: []string{}},
	}, found)
	report := checkAWSCommands(t, append(found, awsCommand{Where: "b", Service: "ek2", Operation: "a-b"}))
	assert.Contains(t, report, "a: aws ec2 describe-vpcs has no --filter")
	assert.Contains(t, report, "a: aws eks has no list-groups")
	assert.Contains(t, report, "b: AWS has no service ek2")
}
