package schema

// Tagged holds the tags of a resource.
type Tagged struct {
	Tags map[string]string `json:"tags,omitempty"`
	// TagsAll are the provider's default tags, overridden by the tags.
	TagsAll map[string]string `json:"tagsAll,omitempty" aws:"default"`
}
