package preflight

import "encoding/json"

// headGroup is KubeRay's name for the group of the head.
const headGroup = "headgroup"

// Templates holds the annotations of each group's pod template, by group name. KubeRay copies them to
// the pods that it creates, so a pod with other annotations was created from another template.
type Templates map[string]map[string]string

// ReadTemplates returns the templates' annotations in a RayCluster's spec; nil when the text is not a
// spec.
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

// current reports whether a pod was created from its group's template; known is false when the
// template has no annotations.
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
