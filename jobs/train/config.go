package train

import (
	"errors"
	"fmt"
	"slices"
)

// Device is where the training code computes.
type Device string

// CUDA is the only device whose verdict means anything on AWS. CPU (gloo, FSDP2) is for machines
// without GPUs.
const (
	CUDA Device = "cuda"
	CPU  Device = "cpu"
)

// Devices returns every Device, in the order in which help texts print them.
func Devices() []Device { return []Device{CUDA, CPU} }

// Config is what the job computes: the part of RAYTRAIN_CONFIG that the stack's settings choose.
// A new setting is a field here and a row in options.
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
	// WrapMinParameters is the least number of parameters in one FSDP unit.
	WrapMinParameters int `pulumi:"wrapMinParameters"`
	// MaxFailures is how often Ray Train may restart the workers.
	MaxFailures int `pulumi:"maxFailures"`
}

// Defaults returns a Config with the values that no setting of the stack changes.
func Defaults() Config {
	return Config{
		LearningRate: 1e-5,
		Seed:         7,
		// Makes every layer of the default model an FSDP unit of its own.
		WrapMinParameters: 10_000_000,
		// A restart would leave evidence of two runs to judge.
		MaxFailures: 0,
	}
}

// Option is one value of a Config under its name in RAYTRAIN_CONFIG.
type Option struct {
	Name  string
	Value any
	// Unset is the value that means the same as no value: an option that was added after the first
	// release has one, so that a proof from before the option stays valid. Nil for the others.
	Unset any

	valid   bool
	allowed string
}

// Options returns every value of the Config.
func (c Config) Options() []Option {
	return []Option{
		{Name: "model", Value: c.Model, valid: slices.Contains(Models(), c.Model), allowed: fmt.Sprintf("one of %q", Models())},
		// One step warms up.
		{Name: "steps", Value: c.Steps, valid: c.Steps >= 2, allowed: "2 or more"},
		{Name: "batchSize", Value: c.BatchSize, valid: c.BatchSize >= 1, allowed: "1 or more"},
		// A token needs a next one.
		{Name: "sequenceLength", Value: c.SequenceLength, valid: c.SequenceLength >= 2, allowed: "2 or more"},
		{Name: "learningRate", Value: c.LearningRate, valid: c.LearningRate > 0, allowed: "above 0"},
		{Name: "seed", Value: c.Seed, valid: c.Seed >= 0, allowed: "0 or more"},
		{Name: "device", Value: c.Device, valid: slices.Contains(Devices(), c.Device), allowed: fmt.Sprintf("one of %q", Devices())},
		{Name: "wrapMinParameters", Value: c.WrapMinParameters, valid: c.WrapMinParameters >= 1, allowed: "1 or more"},
		{Name: "maxFailures", Value: c.MaxFailures, valid: c.MaxFailures >= 0, allowed: "0 or more"},
	}
}

// ErrInvalid is wrapped by every error of Config.Validate.
var ErrInvalid = errors.New("is not allowed")

// Validate returns an error that names every value that the training code would refuse.
func (c Config) Validate() error {
	var problems []error
	for _, option := range c.Options() {
		if !option.valid {
			problems = append(problems, fmt.Errorf("%s %v %w; allowed: %s", option.Name, option.Value, ErrInvalid, option.allowed))
		}
	}
	return errors.Join(problems...)
}
