package train

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	}
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
