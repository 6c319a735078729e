package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// setter checks a value and stores it.
type setter = func(*Settings, string) error

var (
	errForm  = errors.New("invalid format")
	errRange = errors.New("out of range")
	errEmpty = errors.New("empty")
	errGroup = errors.New("is a group of settings, not a setting")
)

// parsed returns a setter that uses a Parse function.
func parsed[T any](parse func(string) (T, error), at func(*Settings) *T) setter {
	return func(s *Settings, value string) error {
		checked, err := parse(value)
		if err != nil {
			return err
		}
		*at(s) = checked
		return nil
	}
}

func matching(form *regexp.Regexp, at func(*Settings) *string) setter {
	return func(s *Settings, value string) error {
		if !form.MatchString(value) {
			return errForm
		}
		*at(s) = value
		return nil
	}
}

// oneOf returns a setter that accepts the values of list.
func oneOf[T ~string](list []T, at func(*Settings) *T) setter {
	return func(s *Settings, value string) error {
		if !slices.Contains(list, T(value)) {
			return errForm
		}
		*at(s) = T(value)
		return nil
	}
}

// optional returns a setter that ignores an empty value, which leaves the setting empty.
func optional(set setter) setter {
	return func(s *Settings, value string) error {
		if value == "" {
			return nil
		}
		return set(s, value)
	}
}

func nonEmpty(at func(*Settings) *string) setter {
	return func(s *Settings, value string) error {
		if strings.TrimSpace(value) == "" {
			return errEmpty
		}
		*at(s) = value
		return nil
	}
}

func between(low, high int, at func(*Settings) *int) setter {
	return func(s *Settings, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return errors.New("not a whole number")
		}
		if n < low || n > high {
			return errRange
		}
		*at(s) = n
		return nil
	}
}

func boolean(at func(*Settings) *bool) setter {
	return func(s *Settings, value string) error {
		if value != "true" && value != "false" {
			return errForm
		}
		*at(s) = value == "true"
		return nil
	}
}

// quantityBetween takes a Kubernetes quantity. The bounds are quantities too.
func quantityBetween(low, high string, at func(*Settings) *string) setter {
	return func(s *Settings, value string) error {
		q, err := resource.ParseQuantity(value)
		if err != nil {
			return errors.New("not a Kubernetes quantity")
		}
		if q.Cmp(resource.MustParse(low)) < 0 || q.Cmp(resource.MustParse(high)) > 0 {
			return errRange
		}
		*at(s) = value
		return nil
	}
}

// setRayVersion refuses versions without token authentication.
func setRayVersion(s *Settings, value string) error {
	match := rayForm.FindStringSubmatch(value)
	if match == nil {
		return errForm
	}
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	if major < 2 || major == 2 && minor < 52 {
		return errRange
	}
	s.Ray.Version = value
	return nil
}

// setNamespace refuses namespaces that Kubernetes does not let anyone delete, and the operator's: the
// stack owns its namespace and deletes it.
func setNamespace(s *Settings, value string) error {
	if !labelForm.MatchString(value) {
		return errForm
	}
	if value == "default" || strings.HasPrefix(value, "kube-") || value == OperatorNamespace {
		return errors.New("not the stack's own: it cannot be deleted with the stack")
	}
	s.Ray.Namespace = value
	return nil
}

func setVPCCIDR(s *Settings, value string) error {
	prefix, err := netip.ParsePrefix(value)
	if err != nil {
		return errors.New("not an address block")
	}
	// AWS takes /16 to /28 (VPC user guide, "VPC CIDR blocks"); smaller than /20 leaves too few pod
	// addresses.
	if !prefix.Addr().Is4() || !prefix.Addr().IsPrivate() || prefix.Bits() < 16 || prefix.Bits() > 20 {
		return errRange
	}
	if prefix != prefix.Masked() {
		return fmt.Errorf("host bits are set; use %s", prefix.Masked())
	}
	s.VPCCIDR = prefix
	return nil
}

func setPublicAccessCIDRs(s *Settings, value string) error {
	var texts []string
	if err := strictJSON(value, &texts); err != nil {
		return err
	}
	blocks := make(CIDRs, 0, len(texts))
	for _, text := range texts {
		block, err := netip.ParsePrefix(text)
		if err != nil || !block.Addr().Is4() {
			return fmt.Errorf("%q is not an IPv4 block", text)
		}
		// EKS refuses them after ten minutes. Source: EKS API reference, VpcConfigRequest.
		first := block.Masked().Addr()
		if first.IsPrivate() || first.IsLoopback() || first.IsLinkLocalUnicast() || first.IsMulticast() {
			return fmt.Errorf("%q is not a block of public addresses", text)
		}
		blocks = append(blocks, block.Masked())
	}
	s.PublicAccessCIDRs = blocks
	return nil
}

func setAdminPrincipalARNs(s *Settings, value string) error {
	var arns []string
	if err := strictJSON(value, &arns); err != nil {
		return err
	}
	for i, arn := range arns {
		if !arnForm.MatchString(arn) {
			return fmt.Errorf("%q is not the ARN of a role or user", arn)
		}
		if slices.Contains(arns[:i], arn) {
			// EKS rejects a second access entry for the same principal.
			return fmt.Errorf("%q is listed twice", arn)
		}
	}
	s.AdminPrincipalARNs = arns
	return nil
}

func setLogRetentionDays(s *Settings, value string) error {
	days := []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400}
	n, err := strconv.Atoi(value)
	if err != nil || !slices.Contains(days, n) {
		return errors.New("not a retention period that CloudWatch supports")
	}
	s.LogRetentionDays = n
	return nil
}

// variableForm matches the variable names that shells and Ray accept.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func setEnvironment(s *Settings, value string) error {
	env, err := scalars(value)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !variableForm.MatchString(name) {
			return fmt.Errorf("%q cannot be the name of a variable", name)
		}
	}
	s.Job.Environment = env
	return nil
}

func setMaxHourlyUSD(s *Settings, value string) error {
	usd, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return errors.New("not a number")
	}
	if !(usd > 0 && usd < 1e6) {
		return errRange
	}
	s.MaxHourlyUSD = usd
	return nil
}

func setPrices(s *Settings, value string) error {
	texts, err := scalars(value)
	if err != nil {
		return err
	}
	prices := make(map[string]float64, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		usd, err := strconv.ParseFloat(texts[name], 64)
		if err != nil || !instanceForm.MatchString(name) || !(usd > 0 && usd < 1e6) {
			return fmt.Errorf("%q: %q is not a price in USD per hour", name, texts[name])
		}
		prices[name] = usd
	}
	s.Prices = prices
	return nil
}

// scalars reads an object of strings, numbers and booleans and keeps their text. Without --type,
// `pulumi config set --path` stores 4194304 and true as a number and a boolean, and 4.6 as a
// string.
func scalars(value string) (map[string]string, error) {
	var members map[string]json.RawMessage
	if err := strictJSON(value, &members); err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member := string(members[name])
		if member == "null" || strings.ContainsAny(member[:1], "{[") {
			return nil, fmt.Errorf("%q is %s, not a string, a number, true or false", name, member)
		}
		texts[name] = textOf(members[name])
	}
	return texts, nil
}

// strictJSON reads the JSON of a structured setting.
func strictJSON(value string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("invalid JSON: %w", err)
	}
	if strings.TrimSpace(value) == "null" {
		return errors.New("null is not a value")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("invalid JSON: something follows the value")
	}
	return nil
}
