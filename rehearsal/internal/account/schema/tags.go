package schema

// Tagged holds the tags of a resource that has some.
type Tagged struct {
	Tags map[string]string `json:"tags,omitempty"`
	// TagsAll are the tags with the provider's default tags under them.
	TagsAll map[string]string `json:"tagsAll,omitempty" aws:"default"`
}
