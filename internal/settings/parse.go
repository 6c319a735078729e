package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/ray-train-efa/ray-train-efa/jobs/train"
)

// Load reads the settings of the running program's stack.
func Load(ctx *pulumi.Context) (Settings, error) {
	raw, err := hostConfig()
	if err != nil {
		return Settings{}, err
	}
	names := groupKeys()
	for _, f := range Fields() {
		names = append(names, f.Key)
	}
	for _, name := range names {
		key := Namespace + ":" + name
		if value, ok := ctx.GetConfig(key); ok {
			raw[key] = value
		}
	}
	return Parse(raw)
}

// hostConfig returns the whole config of the stack, which the language host passes in the
// environment. pulumi.Context only returns known keys, so misspelled keys would go unnoticed. For
// an inline program it is empty.
func hostConfig() (map[string]string, error) {
	raw := map[string]string{}
	text := os.Getenv(pulumi.EnvConfig)
	if text == "" {
		return raw, nil
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("reading %s, the stack's config as the language host passes it: %w", pulumi.EnvConfig, err)
	}
	return raw, nil
}

// Parse turns config, keyed namespace:name as the engine passes it, into settings. Keys of other
// namespaces are ignored. Its error is a Problems that names everything that is wrong.
func Parse(raw map[string]string) (Settings, error) {
	s := Settings{Job: Job{Training: train.Defaults()}}
	flat, problems := flatten(raw)
	known := map[string]bool{}
	for _, f := range Fields() {
		known[f.Key] = true
		value, ok := flat[f.Key]
		if f.Required && value == "" {
			problems = append(problems, f.problem(Problem{Missing: true}))
			continue
		}
		if !ok {
			value = f.Default
		}
		if err := f.set(&s, value); err != nil {
			problems = append(problems, f.problem(Problem{Value: value, Cause: err.Error()}))
		}
	}
	problems = append(problems, unknown(flat, known)...)
	if len(problems) == 0 {
		problems = append(problems, crossCheck(s)...)
		problems = append(problems, scriptProblems(s, flat)...)
	}
	if len(problems) > 0 {
		return Settings{}, problems
	}
	pinAddons(&s)
	return s, nil
}

// problem returns p with the field's key, allowed values and command.
func (f Field) problem(p Problem) Problem {
	p.Key, p.Allowed, p.Next = f.Key, f.Allowed, f.command()
	return p
}

// Unknown returns a problem for each key that is not a setting. Keys have no namespace. Inline
// programs need it, because hostConfig is empty there.
func Unknown(values map[string]string) Problems {
	known := map[string]bool{}
	for _, f := range Fields() {
		known[f.Key] = true
	}
	for _, group := range groupKeys() {
		known[group] = true
	}
	return unknown(values, known)
}

// unknown reports keys that are not settings. Otherwise a misspelled key would be ignored.
func unknown(flat map[string]string, known map[string]bool) Problems {
	var problems Problems
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		if known[key] {
			continue
		}
		p := Problem{Key: key, Value: flat[key], Next: "pulumi config rm " + pathFlag(key) + key}
		object, member := memberOf(key)
		near := nearest(key, known)
		switch {
		case object != "":
			p.Cause = fmt.Sprintf("%s is one setting, a map", object)
			p.Allowed = fmt.Sprintf(`%s={"%s":"%s"}`, object, member, flat[key])
			p.Next = fmt.Sprintf("pulumi config set --path --type string '%s' '%s'", key, flat[key])
		case near != "":
			p.Cause = fmt.Sprintf("no such setting; did you mean %s?", near)
		default:
			p.Cause = "no such setting"
			p.Allowed = strings.Join(siblings(key, known), ", ")
		}
		problems = append(problems, p)
	}
	return problems
}

// memberOf splits a key below a setting that is a map, such as job.environment.NCCL_DEBUG.
func memberOf(key string) (object, member string) {
	for _, f := range Fields() {
		if rest, ok := strings.CutPrefix(key, f.Key+"."); ok && f.Type == Object {
			return f.Key, rest
		}
	}
	return "", ""
}

// siblings returns the settings of the key's group, or, without a group, the groups and the settings
// without one.
func siblings(key string, known map[string]bool) []string {
	group, _, _ := strings.Cut(key, ".")
	var names []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if in, _, dotted := strings.Cut(name, "."); !dotted || in == group {
			names = append(names, name)
		}
	}
	if slices.Contains(groupKeys(), group) {
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, group+".") })
		return names
	}
	for _, name := range groupKeys() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nearest returns the known key that differs from key only in case, dots or dashes, that starts or
// ends with key, or that is one or two typing errors away; empty if there is none.
func nearest(key string, known map[string]bool) string {
	fold := strings.NewReplacer(".", "", "-", "", "_", "")
	wanted := strings.ToLower(fold.Replace(key))
	best, distance := "", 3
	for _, name := range slices.Sorted(maps.Keys(known)) {
		have := strings.ToLower(fold.Replace(name))
		if have == wanted || strings.HasPrefix(have, wanted) || strings.HasSuffix(have, wanted) {
			return name
		}
		if d := edits(have, wanted); d < distance && d < len(wanted)/2 {
			best, distance = name, d
		}
	}
	return best
}

// edits returns the number of characters to insert, delete or replace to turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// scriptProblems reports settings of the built-in training that are set beside job.entrypoint, and the
// reverse: such a setting would change nothing.
func scriptProblems(s Settings, set map[string]string) Problems {
	if s.Job.Entrypoint == "" {
		var problems Problems
		for _, unused := range [][2]string{{"job.workingDir", s.Job.WorkingDir}, {"job.pip", s.Job.Pip}} {
			if unused[1] != "" {
				problems = append(problems, Problem{
					Key: unused[0], Value: unused[1],
					Cause: "the built-in training does not use it, and job.entrypoint is not set",
					Next:  "pulumi config set --path job.entrypoint 'python train.py'",
				})
			}
		}
		return problems
	}
	var problems Problems
	keys := []string{"job.batchSize", "job.model", "job.sequenceLength", "job.steps"}
	for _, field := range trainingFields() {
		keys = append(keys, field.Key)
	}
	for _, key := range keys {
		if value, ok := set[key]; ok {
			problems = append(problems, Problem{
				Key: key, Value: value,
				Cause: "only the built-in training uses it, and job.entrypoint runs a script of your own",
				Next:  "pulumi config rm --path " + key,
			})
		}
	}
	return problems
}

// crossCheck reports settings that are valid alone but not together.
func crossCheck(s Settings) Problems {
	problems := append(strategyProblems(s), anywhereProblems(s)...)
	problems = append(problems, capacityProblems(s)...)
	for key, release := range map[string]string{
		"gpu.amiRelease": s.GPU.AMIRelease, "system.amiRelease": s.System.AMIRelease,
	} {
		if !strings.HasPrefix(release, s.KubernetesVersion+".") {
			problems = append(problems, Problem{
				Key: key, Value: release,
				Cause: fmt.Sprintf("not a release for kubernetesVersion %s", s.KubernetesVersion),
				Allowed: fmt.Sprintf("a release %s.<patch>-<date> of "+
					"https://github.com/awslabs/amazon-eks-ami/releases", s.KubernetesVersion),
				Next: fmt.Sprintf("pulumi config set --path %s RELEASE", key),
			})
		}
	}
	if s.AvailabilityZone != "" && !s.AvailabilityZone.In(s.AWSRegion) {
		problems = append(problems, Problem{
			Key: "availabilityZone", Value: string(s.AvailabilityZone),
			Cause:   fmt.Sprintf("not in awsRegion %s", s.AWSRegion),
			Allowed: fmt.Sprintf("a zone of %[1]s, such as %[1]sa, or empty to choose one automatically", s.AWSRegion),
			Next:    "pulumi config rm availabilityZone",
		})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return problems
}
