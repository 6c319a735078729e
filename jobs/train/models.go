package train

import (
	"maps"
	"slices"
)

// parameters counts what each model of the training code has to train.
func parameters() map[string]int64 {
	return map[string]int64{
		"Qwen/Qwen2.5-0.5B": 494_032_768,
		"Qwen/Qwen2.5-1.5B": 1_543_714_304,
		"tiny":              90_688,
	}
}

// Models lists the training code's models, in order.
func Models() []string { return slices.Sorted(maps.Keys(parameters())) }

// Parameters is the number of parameters of one of the training code's models;
// false for a name that the code does not know. A test holds it to model.py.
func Parameters(model string) (int64, bool) {
	count, ok := parameters()[model]
	return count, ok
}
