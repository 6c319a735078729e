package train

import (
	"encoding/json"
	"maps"
	"slices"
)

// Models returns the names of the models that the training code can build, sorted.
func Models() []string { return slices.Sorted(maps.Keys(parameters())) }

// Parameters returns the number of parameters of a model, and whether there is such a model.
func Parameters(model string) (int64, bool) {
	count, ok := parameters()[model]
	return count, ok
}

func parameters() map[string]int64 {
	var models map[string]struct {
		Parameters int64 `json:"parameters"`
	}
	text, err := code.ReadFile("raytrain_job/models.json")
	// The file is compiled in, and a test reads it. Without it no model is allowed.
	if err != nil || json.Unmarshal(text, &models) != nil {
		return nil
	}
	counts := make(map[string]int64, len(models))
	for name, model := range models {
		counts[name] = model.Parameters
	}
	return counts
}
