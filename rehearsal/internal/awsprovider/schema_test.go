package awsprovider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/schema"
)

// TestSchemaIsPulumiAWS compares every property of every resource type with the source of
// pulumi-aws's SDK: its name, its shape, and whether a program must set it. It finds the
// SDK's type by the token, so that a new resource type needs no entry here.
func TestSchemaIsPulumiAWS(t *testing.T) {
	kinds, err := account.Kinds()
	require.NoError(t, err)
	sdk := newSDK(t)
	for tok, kind := range kinds {
		t.Run(tok, func(t *testing.T) {
			// aws:ec2/vpc:Vpc is type Vpc in ec2/vpc.go.
			parts := strings.FieldsFunc(tok, func(r rune) bool { return r == ':' || r == '/' })
			require.Len(t, parts, 4)
			service, file, name := parts[1], parts[2], parts[3]
			p := sdk.parse(t, service, file+".go")
			args := strings.ToLower(name[:1]) + name[1:] + "Args"
			compareFields(t, p, "", kind.Fields, p.fields(t, args), p.fields(t, name))
		})
	}
}

// sdk reads the source of pulumi-aws's SDK.
type sdk struct {
	dir string
	// nested caches pulumiTypes.go of each service, which holds the nested types.
	nested map[string]map[string]*ast.StructType
}

// sdkFile is the types of one resource.
type sdkFile struct{ structs []map[string]*ast.StructType }

func newSDK(t *testing.T) *sdk {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/pulumi/pulumi-aws/sdk/v6").Output()
	require.NoError(t, err)
	return &sdk{
		dir:    strings.TrimSpace(string(out)),
		nested: map[string]map[string]*ast.StructType{},
	}
}

func (s *sdk) parse(t *testing.T, service, file string) sdkFile {
	t.Helper()
	folder := filepath.Join(s.dir, "go", "aws", service)
	if s.nested[service] == nil {
		s.nested[service] = map[string]*ast.StructType{}
		more, err := filepath.Glob(filepath.Join(folder, "pulumiTypes*.go"))
		require.NoError(t, err)
		for _, path := range more {
			addStructs(t, path, s.nested[service])
		}
	}
	own := map[string]*ast.StructType{}
	addStructs(t, filepath.Join(folder, file), own)
	return sdkFile{[]map[string]*ast.StructType{own, s.nested[service]}}
}

func addStructs(t *testing.T, path string, to map[string]*ast.StructType) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			if named, ok := spec.(*ast.TypeSpec); ok {
				if found, ok := named.Type.(*ast.StructType); ok {
					to[named.Name.Name] = found
				}
			}
		}
	}
}

// fields lists a struct's fields by the names that pulumi gives them.
func (f sdkFile) fields(t *testing.T, name string) map[string]ast.Expr {
	t.Helper()
	fields := map[string]ast.Expr{}
	for _, structs := range f.structs {
		found, ok := structs[name]
		if !ok {
			continue
		}
		for _, field := range found.Fields.List {
			if field.Tag == nil {
				continue
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			require.NoError(t, err)
			if property := reflect.StructTag(tag).Get("pulumi"); property != "" {
				fields[property] = field.Type
			}
		}
		return fields
	}
	require.Fail(t, "pulumi-aws has no such type", name)
	return nil
}

// compareFields checks inputs against the argument type and outputs against the resource.
func compareFields(t *testing.T, sdk sdkFile, path string, fields []schema.Field,
	inputs, outputs map[string]ast.Expr) {
	t.Helper()
	for _, field := range fields {
		at := path + field.Name
		switch {
		case field.Hidden:
		case field.Computed, field.Name == "tagsAll":
			assert.Contains(t, outputs, field.Name, "%s is an output", at)
		default:
			found, ok := inputs[field.Name]
			if assert.True(t, ok, "%s is an input", at) {
				compareType(t, sdk, at, field, found)
			}
		}
	}
	for name, found := range inputs {
		if required, _ := isRequired(found); !required {
			continue
		}
		field, known := schema.Type{Fields: fields}.Field(name)
		if assert.True(t, known, "%s%s is required and must be known", path, name) {
			assert.True(t, field.Required, "%s%s is required", path, name)
		}
	}
}

func compareType(t *testing.T, sdk sdkFile, at string, field schema.Field, found ast.Expr) {
	t.Helper()
	if required, known := isRequired(found); known {
		assert.Equal(t, required, field.Required, "%s is required", at)
	}
	compareShape(t, sdk, at, field.Type, found)
}

func compareShape(t *testing.T, sdk sdkFile, at string, shape schema.Type, found ast.Expr) {
	t.Helper()
	if pointer, ok := found.(*ast.StarExpr); ok {
		found = pointer.X
	}
	if _, anything := found.(*ast.InterfaceType); anything || shape.Shape == schema.Policy {
		// A policy document or a role: text or an object.
		return
	}
	switch found := found.(type) {
	case *ast.ArrayType:
		if assert.Equal(t, schema.List, shape.Shape, at) {
			compareShape(t, sdk, at+"[]", *shape.Element, found.Elt)
		}
	case *ast.MapType:
		if assert.Equal(t, schema.Map, shape.Shape, at) {
			compareShape(t, sdk, at+"[]", *shape.Element, found.Value)
		}
	case *ast.Ident:
		want, basic := map[string]schema.Shape{
			"string": schema.String, "int": schema.Number, "float64": schema.Number,
			"bool": schema.Bool,
		}[found.Name]
		if basic {
			assert.Equal(t, want, shape.Shape, "%s has the SDK's shape", at)
			return
		}
		if assert.Equal(t, schema.Object, shape.Shape, "%s has the SDK's shape", at) {
			nested := sdk.fields(t, found.Name)
			compareFields(t, sdk, at+".", shape.Fields, nested, nested)
		}
	default:
		assert.Failf(t, "unknown type in the SDK", "%s: %T", at, found)
	}
}

// isRequired reports whether an argument type must be set; known is false where the SDK
// does not say.
func isRequired(found ast.Expr) (required, known bool) {
	switch found.(type) {
	case *ast.StarExpr:
		return false, true
	case *ast.ArrayType, *ast.MapType, *ast.InterfaceType:
		return false, false
	default:
		return true, true
	}
}
