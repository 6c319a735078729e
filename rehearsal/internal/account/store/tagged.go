package store

import "encoding/json"

// Tagged is a resource that has tags.
type Tagged struct {
	// Type is the Pulumi type token, ID the provider's id.
	Type, ID string
	// ARN is empty where the type has no such property.
	ARN  string
	Tags map[string]string
}

// Tagged lists the resources with tags, also those that read as deleted, by type and id.
func (a *Store) Tagged() ([]Tagged, error) {
	var all []Tagged
	var failed error
	a.Look(func(o *Op) {
		for _, one := range o.types {
			found, err := one.tagged(o)
			if err != nil {
				failed = err
			}
			all = append(all, found...)
		}
	})
	return all, failed
}

func (r Type[T]) tagged(o *Op) ([]Tagged, error) {
	var all []Tagged
	for _, id := range r.Token.In(o).IDs() {
		body, err := r.encode(r.Token.In(o)[id])
		if err != nil {
			return nil, err
		}
		var row struct {
			ARN            string            `json:"arn"`
			AssociationARN string            `json:"associationArn"`
			TagsAll        map[string]string `json:"tagsAll"`
		}
		if json.Unmarshal(body, &row) != nil || len(row.TagsAll) == 0 {
			continue // a type whose tags have another form has none that the program sets
		}
		if row.ARN == "" {
			row.ARN = row.AssociationARN
		}
		all = append(all, Tagged{Type: string(r.Token), ID: id, ARN: row.ARN, Tags: row.TagsAll})
	}
	return all, nil
}

// ARN returns the ARN of a resource of the account.
func (a *Store) ARN(service, rest string) string {
	var arn string
	a.Look(func(o *Op) { arn = o.ARN(service, rest) })
	return arn
}
