package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Device is where the training code computes.
type Device string

// CUDA is for AWS. CPU (gloo, FSDP2) is for machines without GPUs.
const (
	CUDA Device = "cuda"
	CPU  Device = "cpu"
)

// Devices returns all Devices, in the order of help texts.
func Devices() []Device { return []Device{CUDA, CPU} }

// Strategy is how one model is trained on many ranks.
type Strategy string

// FSDP2 is torch's fully_shard. FSDP1 is Ray Train's prepare_model with torch's size policy, for GPUs
// only. DDP keeps the whole model on each rank.
const (
	FSDP2 Strategy = "fsdp2"
	FSDP1 Strategy = "fsdp1"
	DDP   Strategy = "ddp"
)

// Strategies returns all Strategies, in the order of help texts.
func Strategies() []Strategy { return []Strategy{FSDP2, FSDP1, DDP} }

// Config is what the job computes: the part of RAYTRAIN_CONFIG that the stack's settings choose.
// A new setting is a field here, a row in Options and the code's new digest in equivalent.
type Config struct {
	// Model is one of Models.
	Model string `pulumi:"model"`
	// Steps is the number of optimizer steps.
	Steps int `pulumi:"steps"`
	// BatchSize is the number of sequences in one step of one rank.
	BatchSize int `pulumi:"batchSize"`
	// SequenceLength is the number of tokens of one sequence.
	SequenceLength int `pulumi:"sequenceLength"`
	// LearningRate is the optimizer's.
	LearningRate float64 `pulumi:"learningRate"`
	// Seed makes data and initial weights repeatable.
	Seed int `pulumi:"seed"`
	// Device is where the job computes.
	Device Device `pulumi:"device"`
	// WrapMinParameters is the minimum number of parameters in one FSDP unit.
	WrapMinParameters int `pulumi:"wrapMinParameters"`
	// MaxFailures is how often Ray Train may restart the workers.
	MaxFailures int `pulumi:"maxFailures"`
	// Strategy is how the model is distributed.
	Strategy Strategy `pulumi:"strategy,optional"`
	// GradientCheckpointing computes activations again in the backward pass, to save memory.
	GradientCheckpointing bool `pulumi:"gradientCheckpointing,optional"`
	// Compile uses torch.compile on each layer.
	Compile bool `pulumi:"compile,optional"`
	// CheckpointEvery is the number of steps between two checkpoints; 0 saves none.
	CheckpointEvery int `pulumi:"checkpointEvery,optional"`
	// StoragePath is where checkpoints are stored: a folder that all nodes share, or a URI that pyarrow
	// can open, such as s3://bucket/runs. Empty means a folder of each node.
	StoragePath string `pulumi:"storagePath,optional"`
	// RunName names the run in the storage. A run continues at the last checkpoint of its name. Empty
	// means the submission's id, which is new for each attempt.
	RunName string `pulumi:"runName,optional"`
	// AllReduceMebibytes is the largest message of a sweep of all_reduce after the training; 0 for none.
	AllReduceMebibytes int `pulumi:"allReduceMebibytes,optional"`
	// KillAtStep is the step after which the last rank of a new run kills itself, to measure a
	// recovery; 0 for never.
	KillAtStep int `pulumi:"killAtStep,optional"`
}

// Defaults returns a Config with the values that are not settings of the stack.
func Defaults() Config {
	return Config{
		LearningRate: 1e-5,
		Seed:         7,
		// Every layer of the default model becomes an FSDP unit.
		WrapMinParameters: 10_000_000,
		// A restart would create evidence of two runs.
		MaxFailures: 0,
		Strategy:    FSDP2,
	}
}

// Option is one value of a Config under its name in RAYTRAIN_CONFIG.
type Option struct {
	Name  string
	Value any
	// Unset is the default. Options that were added after the first release have one, so that older
	// proofs stay valid. Nil for the others.
	Unset any

	valid   bool
	allowed string
}

// Options returns every value of the Config.
func (c Config) Options() []Option {
	return []Option{
		oneOf("model", c.Model, Models()),
		atLeast("steps", c.Steps, 2), // one warms up
		atLeast("batchSize", c.BatchSize, 1),
		atLeast("sequenceLength", c.SequenceLength, 2), // a token needs a next one
		{Name: "learningRate", Value: c.LearningRate, valid: c.LearningRate > 0, allowed: "above 0"},
		atLeast("seed", c.Seed, 0),
		oneOf("device", c.Device, Devices()),
		atLeast("wrapMinParameters", c.WrapMinParameters, 1),
		atLeast("maxFailures", c.MaxFailures, 0),
		c.strategy(),
		{Name: "gradientCheckpointing", Value: c.GradientCheckpointing, Unset: false, valid: true},
		{Name: "compile", Value: c.Compile, Unset: false, valid: true},
		since(atLeast("checkpointEvery", c.CheckpointEvery, 0), 0),
		text("storagePath", c.StoragePath, "an absolute folder, or a URI such as s3://bucket/runs"),
		text("runName", c.RunName, "1 to 63 characters of a-z, 0-9 and -"),
		since(atLeast("allReduceMebibytes", c.AllReduceMebibytes, 0), 0),
		{
			Name: "killAtStep", Value: c.KillAtStep, Unset: 0, valid: c.KillAtStep == 0 || c.recovers(),
			allowed: "0, or a step between checkpointEvery and steps, with maxFailures of 1 or more",
		},
	}
}

// recovers reports whether a run whose rank is killed continues at a checkpoint.
func (c Config) recovers() bool {
	return c.CheckpointEvery > 0 && c.KillAtStep > c.CheckpointEvery && c.KillAtStep < c.Steps && c.MaxFailures > 0
}

// strategy returns the option of a Strategy. FSDP1 raises an error without GPUs.
func (c Config) strategy() Option {
	value := c.Strategy
	if value == "" {
		value = FSDP2 // of a state without this value
	}
	option := since(oneOf("strategy", value, Strategies()), FSDP2)
	if value == FSDP1 && c.Device == CPU {
		option.valid, option.allowed = false, `"fsdp1" with device "cuda" only; "fsdp2" or "ddp" with "cpu"`
	}
	return option
}

// since returns an option that was added after the first release, with its default.
func since(option Option, unset any) Option {
	option.Unset = unset
	return option
}

func text(name, value, allowed string) Option {
	return Option{
		Name: name, Value: value, Unset: "", valid: value == "" || matches(name, value),
		allowed: allowed + ", or empty",
	}
}

// matches reports whether a value has the form that the training code requires of its option.
func matches(option, value string) bool {
	var patterns map[string]string
	text, err := code.ReadFile("raytrain_job/patterns.json")
	// The file is compiled in, and a test reads it. Without it no value is allowed.
	if err != nil || json.Unmarshal(text, &patterns) != nil || patterns[option] == "" {
		return false
	}
	form, err := regexp.Compile(patterns[option])
	return err == nil && form.MatchString(value)
}

func atLeast(name string, value, least int) Option {
	return Option{Name: name, Value: value, valid: value >= least, allowed: fmt.Sprintf("%d or more", least)}
}

func oneOf[T ~string](name string, value T, list []T) Option {
	return Option{
		Name: name, Value: value, valid: slices.Contains(list, value), allowed: fmt.Sprintf("one of %q", list),
	}
}

// ErrInvalid is wrapped by every error of Config.Validate.
var ErrInvalid = errors.New("is not allowed")

// Validate returns an error that names every invalid value.
func (c Config) Validate() error {
	var problems []error
	for _, option := range c.Options() {
		if !option.valid {
			problems = append(problems, fmt.Errorf("%s %v %w; allowed: %s",
				option.Name, option.Value, ErrInvalid, option.allowed))
		}
	}
	return errors.Join(problems...)
}

// equivalent returns the digests of training code that computes the same and leaves the same
// evidence, oldest first. A proof by one of them holds for all. If a change keeps the result
// (comments, messages, a setting whose default changes nothing), add the new digest; otherwise
// replace the list with it. Code that is not listed is a new revision, so a forgotten entry only
// costs a run.
func equivalent() []string {
	return []string{
		"028e5c8fd0cb1b3caca250f67356b1f6",
		"0531e48a43b5ee29b189f9942e38ebcb",
		"acb3aa37a058d3e5dd0a3f42593b5962",
		"2835d9beb787e5f6aa3ae99130663b3b",
		"f28ff7b05bdc0d165650c7e522160029",
		"c318124fe96e0fba8f35dfacf68be737",
		"5a878697ff059601043d3b5b04df45a3",
		"f7a92d0df6f7ac51b69618b5b8213852",
		"ad2a35a386e56cc954ea2cc60051ef03",
	}
}

// Revision identifies what the zipped training code computes.
func Revision(zip []byte) string {
	sum := sha256.Sum256(zip)
	digest := hex.EncodeToString(sum[:16])
	if slices.Contains(equivalent(), digest) {
		return equivalent()[0]
	}
	return digest
}
