// Package settings reads and validates the stack's Pulumi config. It reports all errors at once. No
// other package reads the config.
//
// A new setting is one field and one row of a table, both in the file of its group, and an entry in
// Pulumi.yaml, which `go test ./internal/settings -update` writes from the tables.
package settings

import (
	"slices"

	"github.com/ray-train-efa/ray-train-efa/internal/image"
)

// Namespace is the config namespace, the name of the Pulumi project.
const Namespace = "ray-train-efa"

// Settings holds the stack's settings. Only Parse creates it, so all values are valid. Fields are
// named like their settings.
type Settings struct {
	Place
	Security
	// Addons are the versions of the EKS add-ons.
	Addons AddonVersions
	// GPU is the node group of the workers.
	GPU GPU
	// System is the node group of the Ray head, the operator and CoreDNS.
	System NodeGroup
	// FastImagePull lets nodes pull the layers of an image in parallel.
	FastImagePull bool
	// Image is what head and workers run: the settings imageRepository and imageDigest.
	Image image.Reference
	// Charts are the Helm charts of the device plugins and the operator.
	Charts Charts
	// Ray is the shape of the RayCluster.
	Ray Ray
	// Job is the training job that the gate judges.
	Job Job
	Cost
}

// group is a heading of Pulumi.yaml and the settings below it.
type group struct {
	heading string
	fields  []Field
}

func groups() []group {
	return []group{
		{"Where", placeFields()},
		{"Security", securityFields()},
		{"Nodes", slices.Concat(nodeFields(), capacityFields())},
		{"Add-ons of EKS", addonFields()},
		{"Image and charts", imageFields()},
		{"Ray", rayFields()},
		{"The job and its gate", jobFields()},
		{"Cost", costFields()},
	}
}

// groupDescriptions say what the settings of a group are about. Pulumi.yaml declares only the
// groups: the engine would write the defaults of single members into the stack's objects, over a
// value that is not an object, and next to a name with dots. It declares no types, because the CLI
// refuses a wrong one alone and without the command that fixes it.
func groupDescriptions() map[string]string {
	return map[string]string{
		"addons": "The add-ons of EKS.",
		"gpu":    "The GPU nodes.", "system": "The system nodes.", "charts": "The Helm charts.",
		"ray": "The RayCluster.", "job": "The training job and its gate.",
	}
}

// Fields returns every setting.
func Fields() []Field {
	var all []Field
	for _, g := range groups() {
		all = slices.Concat(all, g.fields)
	}
	return all
}

func fieldOf(key string) (Field, bool) {
	for _, f := range Fields() {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}
