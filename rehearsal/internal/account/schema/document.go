package schema

import (
	"encoding/json"
	"fmt"
)

// Document is a JSON policy, which programs give as a string or as an object.
type Document string

// UnmarshalJSON accepts both forms and keeps the text.
func (d *Document) UnmarshalJSON(body []byte) error {
	var text string
	if err := json.Unmarshal(body, &text); err == nil {
		*d = Document(text)
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("decoding a policy document: it is neither a string nor an object: %w",
			err)
	}
	*d = Document(body)
	return nil
}
