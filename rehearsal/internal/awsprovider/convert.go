package awsprovider

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// defaultsKey is the key for the names of the inputs that the provider set by default, as in every
// provider that is bridged from Terraform.
const defaultsKey = "__defaults"

// toJSON encodes properties for the account, without secret markers and the provider's own keys.
func toJSON(properties property.Map) (json.RawMessage, error) {
	plain := map[string]any{}
	for name, value := range properties.All {
		if name == defaultsKey || value.IsNull() {
			continue
		}
		converted, err := plainValue(value)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", name, err)
		}
		plain[name] = converted
	}
	return json.Marshal(plain)
}

func plainValue(value property.Value) (any, error) {
	switch {
	case value.IsNull():
		return nil, nil
	case value.IsBool():
		return value.AsBool(), nil
	case value.IsNumber():
		return value.AsNumber(), nil
	case value.IsString():
		return value.AsString(), nil
	case value.IsArray():
		list := []any{}
		for _, item := range value.AsArray().All {
			converted, err := plainValue(item)
			if err != nil {
				return nil, err
			}
			list = append(list, converted)
		}
		return list, nil
	case value.IsMap():
		object := map[string]any{}
		for name, item := range value.AsMap().All {
			if name == defaultsKey || item.IsNull() {
				continue
			}
			converted, err := plainValue(item)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			object[name] = converted
		}
		return object, nil
	case value.IsResourceReference():
		return plainValue(value.AsResourceReference().ID)
	case value.IsComputed():
		return nil, fmt.Errorf("its value is not known yet")
	default:
		return nil, fmt.Errorf("assets and archives are not AWS properties")
	}
}

// fromJSON decodes properties from the account's response.
func fromJSON(body json.RawMessage) (property.Map, error) {
	var plain map[string]any
	if err := json.Unmarshal(body, &plain); err != nil {
		return property.Map{}, fmt.Errorf("decoding the account's response: %w", err)
	}
	return mapValue(plain).AsMap(), nil
}

func mapValue(plain any) property.Value {
	switch v := plain.(type) {
	case bool:
		return property.New(v)
	case float64:
		return property.New(v)
	case string:
		return property.New(v)
	case []any:
		list := make([]property.Value, len(v))
		for i, item := range v {
			list[i] = mapValue(item)
		}
		return property.New(list)
	case map[string]any:
		object := map[string]property.Value{}
		for name, item := range v {
			object[name] = mapValue(item)
		}
		return property.New(object)
	default:
		return property.New(property.Null)
	}
}

// coerce converts strings to numbers and booleans, and back, where the schema requires it, as
// bridged providers do: a launch template's latestVersion is a number, and a node group's version
// of it is a string.
func coerceScalar(value property.Value, wanted string) (property.Value, bool) {
	secret := value.Secret()
	text := ""
	switch {
	case value.IsString():
		text = value.AsString()
	case value.IsBool():
		text = strconv.FormatBool(value.AsBool())
	case value.IsNumber():
		text = strconv.FormatFloat(value.AsNumber(), 'f', -1, 64)
	default:
		return value, false
	}
	switch wanted {
	case "string":
		return property.New(text).WithSecret(secret), true
	case "boolean":
		parsed, err := strconv.ParseBool(text)
		return property.New(parsed).WithSecret(secret), err == nil
	case "number":
		parsed, err := strconv.ParseFloat(text, 64)
		return property.New(parsed).WithSecret(secret), err == nil
	default:
		return value, false
	}
}
