package settings

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	engine "github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// words are a shell's words of a command: quoted or bare, and none of its other signs.
var words = regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`)

// configSet does to a stack's config what `pulumi config set` does, with the CLI's own code for
// paths and types.
func configSet(t *testing.T, stack engine.Map, command string) {
	t.Helper()
	var plain []string
	for _, word := range words.FindAllStringSubmatch(command, -1) {
		plain = append(plain, word[1]+word[2]+word[3])
	}
	require.GreaterOrEqual(t, len(plain), 5, command)
	require.Equal(t, []string{"pulumi", "config", "set"}, plain[:3])
	plain = plain[3:]
	path, typed := plain[0] == "--path", ""
	if path {
		plain = plain[1:]
	}
	if plain[0] == "--type" {
		typed, plain = plain[1], plain[2:]
	}
	require.Len(t, plain, 2, command)
	value := engine.NewValue(plain[1])
	if typed != "" {
		kinds := map[string]engine.Type{"string": engine.TypeString, "float": engine.TypeFloat}
		require.Contains(t, kinds, typed)
		value = engine.NewTypedValue(plain[1], kinds[typed])
	}
	require.NoError(t, stack.Set(engine.MustMakeKey(Namespace, plain[0]), value, path))
}

// passed is config as the engine passes it to the program: with the defaults of Pulumi.yaml.
// Source: pulumi/pkg/workspace, mergeConfig.
func passed(t *testing.T, stack engine.Map) map[string]string {
	t.Helper()
	project, err := workspace.LoadProject("../../Pulumi.yaml")
	require.NoError(t, err)
	for key, declared := range project.Config {
		name := engine.MustMakeKey(Namespace, key)
		if _, found, err := stack.Get(name, true); err != nil || found {
			require.NoError(t, err)
			continue
		}
		text, err := json.Marshal(declared.Default)
		require.NoError(t, err)
		value := engine.NewObjectValue(string(text))
		if plain, ok := declared.Default.(string); ok {
			value = engine.NewValue(plain)
		}
		require.NoError(t, stack.Set(name, value, true))
	}
	texts, err := stack.Decrypt(engine.NopDecrypter)
	require.NoError(t, err)
	raw := map[string]string{}
	for key, text := range texts {
		raw[key.String()] = text
	}
	return raw
}

// needed is the smallest usable stack config.
func needed(t *testing.T) engine.Map {
	t.Helper()
	stack := engine.Map{}
	configSet(t, stack, "pulumi config set imageDigest "+goodDigest)
	configSet(t, stack, "pulumi config set --path 'publicAccessCidrs[0]' 203.0.113.7/32")
	return stack
}

// forms are the commands that store a value of each type; without --path an array or an object
// becomes a text.
func forms() map[Type]*regexp.Regexp {
	scalar := regexp.MustCompile(`^pulumi config set (--path [a-z]+\.\S+|[A-Za-z]+) '[^']+'$`)
	return map[Type]*regexp.Regexp{
		String: scalar, Integer: scalar, Boolean: scalar,
		Array:  regexp.MustCompile(`^pulumi config set --path '[A-Za-z.]+\[0\]' ('[^']+'|"[^"]+")$`),
		Object: regexp.MustCompile(`^pulumi config set --path --type (string|float) '[A-Za-z.]+(\.[A-Z_]+|\["[^"]+"\])' '[^']+'$`),
	}
}

// What a refused setting prints must work: the CLI takes the value, and so does the program.
func TestEveryPrintedCommandWorks(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		t.Run(f.Key, func(t *testing.T) {
			t.Parallel()
			command := f.command()
			if strings.HasPrefix(command, "raytrain ") {
				return
			}
			assert.Regexp(t, forms()[f.Type], command)
			// The person's own address, which the shell asks for.
			command = strings.Replace(command, "$(curl -s https://checkip.amazonaws.com)", "203.0.113.7", 1)
			stack := needed(t)
			if f.Key == "job.workingDir" || f.Key == "job.pip" { // refused alone
				configSet(t, stack, "pulumi config set --path job.entrypoint 'python train.py'")
			}
			if f.Key == "gpu.reservation" { // needs the others
				configSet(t, stack, "pulumi config set --path gpu.capacity 'existing'")
				configSet(t, stack, "pulumi config set --path gpu.placement 'none'")
				configSet(t, stack, "pulumi config set availabilityZone 'us-east-2b'")
			}
			configSet(t, stack, command)
			have, err := Parse(passed(t, stack))
			require.NoError(t, err)
			if f.Key == "prices" {
				assert.Equal(t, map[string]float64{"g6.12xlarge": 4.6016}, have.Prices)
			}
		})
	}
}

// The command also replaces the text that `pulumi config set KEY JSON` stores.
func TestAnArrayOrObjectThatIsATextIsReplaced(t *testing.T) {
	t.Parallel()
	for key, text := range map[string]string{
		"prices": `{"g6.12xlarge":4.6}`, "adminPrincipalArns": `["arn:aws:iam::123456789012:role/a"]`, "publicAccessCidrs": `["203.0.113.7/32"]`,
	} {
		stack := needed(t)
		require.NoError(t, stack.Set(engine.MustMakeKey(Namespace, key), engine.NewValue(text), false))
		_, err := Parse(passed(t, stack))
		require.NoError(t, err, "it means the same")
		f, ok := fieldOf(key)
		require.True(t, ok)
		configSet(t, stack, strings.Replace(f.command(), "$(curl -s https://checkip.amazonaws.com)", "203.0.113.7", 1))
		_, err = Parse(passed(t, stack))
		require.NoError(t, err)
	}
}

// What the engine does to a group that is not an object, and to a name with dots, must not hide them.
func TestNoValueWinsInSilence(t *testing.T) {
	t.Parallel()
	for command, says := range map[string]string{
		"pulumi config set gpu hello":            `ray-train-efa:gpu is "hello"`,
		"pulumi config set job nonsense":         `ray-train-efa:job is "nonsense"`,
		"pulumi config set gpu.nodes 3":          "next: pulumi config rm gpu.nodes && pulumi config set --path gpu.nodes '3'",
		"pulumi config set --path gpu.nodes 1.5": `ray-train-efa:gpu.nodes is "1.5": not a whole number`,
		"pulumi config set --path job.steps hi":  `ray-train-efa:job.steps is "hi": not a whole number`,
	} {
		stack := needed(t)
		configSet(t, stack, command)
		_, err := Parse(passed(t, stack))
		require.ErrorContains(t, err, says, command)
	}
	_, err := Parse(passed(t, engine.Map{}))
	require.ErrorContains(t, err, "ray-train-efa:imageDigest is not set", "the program says it, with the command")
	require.ErrorContains(t, err, "ray-train-efa:publicAccessCidrs is not set")
}

// Without --type the CLI turns what looks like a number or a boolean into one, and only integers:
// 4.6 stays a text.
func TestNumbersAndBooleansOfObjectsAreTakenAsWritten(t *testing.T) {
	t.Parallel()
	stack := needed(t)
	for _, command := range []string{
		"pulumi config set --path job.environment.NCCL_BUFFSIZE 4194304", "pulumi config set --path job.environment.FI_EFA_USE_HUGE_PAGE true",
		"pulumi config set --path job.environment.NCCL_DEBUG INFO", "pulumi config set --path --type string job.environment.FI_LOG_LEVEL 007",
		`pulumi config set --path 'prices["g6.12xlarge"]' 4.6`, `pulumi config set --path 'prices["p5.48xlarge"]' 55`,
	} {
		configSet(t, stack, command)
	}
	have, err := Parse(passed(t, stack))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"NCCL_BUFFSIZE": "4194304", "FI_EFA_USE_HUGE_PAGE": "true", "NCCL_DEBUG": "INFO", "FI_LOG_LEVEL": "007",
	}, have.Job.Environment)
	assert.Equal(t, map[string]float64{"g6.12xlarge": 4.6, "p5.48xlarge": 55}, have.Prices)

	have, err = Parse(func() map[string]string {
		raw := passed(t, needed(t))
		raw[Namespace+":job"] = `{"environment":{"A":1.50,"B":1e3,"C":false,"D":"\u0041"}}`
		return raw
	}())
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"A": "1.50", "B": "1e3", "C": "false", "D": "A"}, have.Job.Environment, "exactly as written")
}

func TestAdminsAreRolesAndUsersOfAnyPartition(t *testing.T) {
	t.Parallel()
	for _, arn := range []string{
		"arn:aws:iam::123456789012:role/ml/team", "arn:aws:iam::123456789012:user/me", "arn:aws-us-gov:iam::123456789012:role/a", "arn:aws-cn:iam::123456789012:role/a",
	} {
		raw := passed(t, needed(t))
		raw[Namespace+":adminPrincipalArns"] = `["` + arn + `"]`
		have, err := Parse(raw)
		require.NoError(t, err)
		assert.Equal(t, []string{arn}, have.AdminPrincipalARNs)
	}
	raw := passed(t, needed(t))
	raw[Namespace+":adminPrincipalArns"] = `["arn:aws:sts::123456789012:assumed-role/ml-team/me"]`
	_, err := Parse(raw)
	require.ErrorContains(t, err, "for a role, the role ARN")
}
