package preflight

import "encoding/json"

// headGroup is KubeRay's name of the head's group.
const headGroup = "headgroup"

// Templates holds the annotations of each group's pod template, by the group's
// name. KubeRay copies them onto the pods that it makes, so a pod that carries
// others was made from another template.
type Templates map[string]map[string]string

// ReadTemplates takes the templates' annotations out of a RayCluster's spec;
// nil when the text is no such spec, such as a hash of one.
func ReadTemplates(spec string) Templates {
	type group struct {
		GroupName string `json:"groupName"`
		Template  struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"template"`
	}
	var read struct {
		Head    group   `json:"headGroupSpec"`
		Workers []group `json:"workerGroupSpecs"`
	}
	if json.Unmarshal([]byte(spec), &read) != nil {
		return nil
	}
	templates := Templates{headGroup: read.Head.Template.Metadata.Annotations}
	for _, worker := range read.Workers {
		templates[worker.GroupName] = worker.Template.Metadata.Annotations
	}
	return templates
}

// current tells whether a pod was made from its group's template; known is
// false where the template marks nothing.
func (t Templates) current(pod Pod) (current, known bool) {
	group := pod.Group
	if pod.Head {
		group = headGroup
	}
	marks := t[group]
	for name, value := range marks {
		if pod.Annotations[name] != value {
			return false, true
		}
	}
	return true, len(marks) > 0
}
