package charts

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// render does what Helm does with a chart's templates, as far as these charts need it: the template
// functions of the same names and the same built-in objects.
func render(t *testing.T, chart Chart, release string, overrides map[string]any) map[string]string {
	t.Helper()
	contents, err := chartFiles(chart)
	require.NoError(t, err)
	values, about := map[string]any{}, map[string]any{}
	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := root.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(value any) (string, error) {
			data, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(data), "\n"), err
		},
		"nindent": func(width int, text string) string {
			pad := strings.Repeat(" ", width)
			return "\n" + pad + strings.ReplaceAll(text, "\n", "\n"+pad)
		},
		"list": func(values ...any) []any { return values },
		"join": func(separator string, values []any) string {
			texts := make([]string, len(values))
			for i, value := range values {
				texts[i] = fmt.Sprint(value)
			}
			return strings.Join(texts, separator)
		},
		"default": func(fallback, value any) any {
			if list, ok := value.([]any); value == nil || value == "" || ok && len(list) == 0 {
				return fallback
			}
			return value
		},
		"ternary": func(yes, no any, condition bool) any {
			if condition {
				return yes
			}
			return no
		},
		"quote":      func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"contains":   func(part, text string) bool { return strings.Contains(text, part) },
		"trunc":      func(width int, text string) string { return text[:min(width, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
	})
	var names []string
	for _, f := range contents {
		switch {
		case f.name == "values.yaml":
			require.NoError(t, yaml.Unmarshal(f.data, &values))
		case f.name == "Chart.yaml":
			require.NoError(t, yaml.Unmarshal(f.data, &about))
		case strings.HasPrefix(f.name, "templates/"):
			_, err := root.New(f.name).Parse(string(f.data))
			require.NoError(t, err)
			if path.Ext(f.name) == ".yaml" {
				names = append(names, f.name)
			}
		}
	}
	maps.Copy(values, overrides)
	chartObject := map[string]any{"Name": about["name"], "Version": about["version"],
		"AppVersion": about["appVersion"]}
	data := map[string]any{
		"Values": values, "Chart": chartObject,
		"Release": map[string]any{"Name": release, "Namespace": "kube-system", "Service": "Helm"},
	}
	documents := map[string]string{}
	for _, name := range names {
		var out bytes.Buffer
		require.NoError(t, root.ExecuteTemplate(&out, name, data), name)
		for _, document := range strings.Split(out.String(), "\n---\n") {
			var head struct {
				Kind     string `json:"kind"`
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(document), &head), document)
			if head.Kind != "" {
				documents[head.Kind+"/"+head.Metadata.Name] = document
			}
		}
	}
	return documents
}

func decode[T any](t *testing.T, documents map[string]string, key string) T {
	t.Helper()
	var object T
	require.Contains(t, documents, key)
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[key]), &object), documents[key])
	return object
}
