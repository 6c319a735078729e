package explain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/nccl/finding"
	"github.com/ray-train-efa/ray-train-efa/provider/explain"
)

// TestEveryFindingIsExplained reads the codes from the sources that report them, so that a finding
// without an explanation, and an explanation without a finding, fail.
func TestEveryFindingIsExplained(t *testing.T) {
	t.Parallel()
	reported := map[string]bool{}
	for _, folder := range []string{"../evidence", "../follow", "../gate", preflightFolder, "../../submit"} {
		for _, code := range reportedIn(t, folder) {
			reported[code] = true
			_, ok := explain.Find(code)
			assert.True(t, ok, "%s, in %s, has no explanation", code, folder)
		}
	}
	own := explain.Codes()[len(finding.Codes()):]
	assert.NotEmpty(t, own)
	for _, code := range own {
		assert.True(t, reported[code], "%s is explained, and not reported", code)
	}
}

func TestExplanationsAreComplete(t *testing.T) {
	t.Parallel()
	codes := explain.Codes()
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(codes))), len(codes), "a code is explained twice")
	for _, code := range codes {
		e, ok := explain.Find(code)
		require.True(t, ok, code)
		assert.Equal(t, code, e.Code)
		assert.NotEmpty(t, e.Severity, code)
		assert.NotEmpty(t, e.Meaning, code)
		assert.NotEmpty(t, e.How, code)
		assert.NotEmpty(t, e.Next, code)
	}
	_, ok := explain.Find("no-such-code")
	assert.False(t, ok)
}

// preflightFolder has helpers that take a code as an argument.
const preflightFolder = "../preflight"

// reportedIn returns the codes of the findings that a folder's sources report: a Finding's field Code
// (given in a literal or assigned), and the arguments of finding() and add(), the preflight's helpers.
func reportedIn(t *testing.T, folder string) []string {
	t.Helper()
	var codes []string
	add := func(e ast.Expr) {
		if code, ok := codeOf(e); ok {
			codes = append(codes, code)
		}
	}
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
					add(n.Value)
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if field, ok := left.(*ast.SelectorExpr); ok && field.Sel.Name == "Code" && len(n.Rhs) == len(n.Lhs) {
						add(n.Rhs[i])
					}
				}
			case *ast.CallExpr:
				f, ok := n.Fun.(*ast.Ident)
				if ok && folder == preflightFolder && (f.Name == "finding" || f.Name == "add") {
					for _, arg := range n.Args[:min(2, len(n.Args))] {
						add(arg)
					}
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	return codes
}

// codeOf returns the code that an expression is, and reports whether it is one.
func codeOf(e ast.Expr) (code string, ok bool) {
	text, isLiteral := e.(*ast.BasicLit)
	if !isLiteral {
		return "", false
	}
	code, err := strconv.Unquote(text.Value)
	return code, err == nil && regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(code)
}
