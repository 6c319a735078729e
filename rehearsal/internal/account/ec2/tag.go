package ec2

import (
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/store"
)

// Tag is aws:ec2/tag:Tag, one tag on something that another program made.
type Tag struct {
	ResourceID string `json:"resourceId" aws:"required,replace"`
	Key        string `json:"key" aws:"required,replace"`
	Value      string `json:"value" aws:"required"`
}

// Tags is the token of Ec2Tag.
const Tags store.Token[Tag] = "aws:ec2/tag:Tag"

// ec2TagRules tag something that another program made, such as a cluster's group.
func tagType() store.Type[Tag] {
	return store.Type[Tag]{
		Service:   "EC2",
		CreateAPI: "CreateTags", UpdateAPI: "CreateTags", DeleteAPI: "DeleteTags",
		Token: Tags,
		Create: func(o *store.Op, in *Tag) (string, error) {
			if !o.Exists("EC2", in.ResourceID) {
				return "", api.Errorf("InvalidID", "The ID '%s' is not valid", in.ResourceID)
			}
			return in.ResourceID + "," + in.Key, nil
		},
	}
}
