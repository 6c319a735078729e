package nodeagent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// defaultPath is PATH where neither image nor pod sets one, as container
// runtimes set it.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// errConfigMissing marks what becomes CreateContainerConfigError: the container
// refers to an object or key that does not exist (yet).
var errConfigMissing = errors.New("missing reference")

// objects gives access to what the environment and volumes of a pod refer to.
// Absent objects are errors for which apierrors.IsNotFound holds.
type objects interface {
	ConfigMap(namespace, name string) (*corev1.ConfigMap, error)
	Secret(namespace, name string) (*corev1.Secret, error)
}

// environment computes a container's variables in the order in which a kubelet
// and a runtime do: the image's, then those that every pod gets, then envFrom,
// then env; a later one replaces an earlier one of the same name.
func environment(base []string, c *corev1.Container, fields fieldSource, source objects) ([]string, error) {
	result := newVariables(append([]string{defaultPath}, base...))
	references := newVariables(nil) // what $(NAME) may refer to: never the image's
	for _, from := range c.EnvFrom {
		pairs, err := envFrom(from, fields.pod.Namespace, source)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			result.set(from.Prefix+name, pairs[name])
			references.set(from.Prefix+name, pairs[name])
		}
	}
	for _, variable := range c.Env {
		value, present, err := envValue(variable, fields, c, references, source)
		if err != nil {
			return nil, fmt.Errorf("environment variable %q: %w", variable.Name, err)
		}
		if present {
			result.set(variable.Name, value)
			references.set(variable.Name, value)
		}
	}
	return result.list(), nil
}

func envFrom(from corev1.EnvFromSource, namespace string, source objects) (map[string]string, error) {
	pairs := map[string]string{}
	switch {
	case from.ConfigMapRef != nil:
		object, err := source.ConfigMap(namespace, from.ConfigMapRef.Name)
		if err != nil {
			return nil, missingUnless(from.ConfigMapRef.Optional, err)
		}
		return object.Data, nil
	case from.SecretRef != nil:
		object, err := source.Secret(namespace, from.SecretRef.Name)
		if err != nil {
			return nil, missingUnless(from.SecretRef.Optional, err)
		}
		for name, value := range object.Data {
			pairs[name] = string(value)
		}
	}
	return pairs, nil
}

// envValue computes one variable; present is false if an optional reference
// leads nowhere.
func envValue(v corev1.EnvVar, fields fieldSource, c *corev1.Container, known *variables, source objects) (value string, present bool, err error) {
	if v.ValueFrom == nil {
		return expand(v.Value, known), true, nil
	}
	namespace := fields.pod.Namespace
	switch from := v.ValueFrom; {
	case from.FieldRef != nil:
		value, err = fields.field(from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		value, err = fields.resource(from.ResourceFieldRef, c.Name)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		object, getErr := source.ConfigMap(namespace, ref.Name)
		if getErr != nil {
			return "", false, missingUnless(ref.Optional, getErr)
		}
		if value, present = object.Data[ref.Key]; !present {
			err = missingUnless(ref.Optional, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, namespace, ref.Name))
		}
		return value, present, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		object, getErr := source.Secret(namespace, ref.Name)
		if getErr != nil {
			return "", false, missingUnless(ref.Optional, getErr)
		}
		data, present := object.Data[ref.Key]
		if !present {
			err = missingUnless(ref.Optional, fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, namespace, ref.Name))
		}
		return string(data), present, err
	default:
		err = errors.New("valueFrom names no source that is rehearsed: fieldRef, resourceFieldRef, configMapKeyRef or secretKeyRef")
	}
	return value, err == nil, err
}

func missingUnless(optional *bool, err error) error {
	if optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("%w: %w", errConfigMissing, err)
}

// variables keeps the order of first appearance.
type variables struct {
	order  []string
	values map[string]string
}

func newVariables(pairs []string) *variables {
	v := &variables{values: map[string]string{}}
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok {
			v.set(name, value)
		}
	}
	return v
}

func (v *variables) set(name, value string) {
	if _, known := v.values[name]; !known {
		v.order = append(v.order, name)
	}
	v.values[name] = value
}

func (v *variables) list() []string {
	list := make([]string, 0, len(v.order))
	for _, name := range v.order {
		list = append(list, name+"="+v.values[name])
	}
	return list
}

// expand replaces $(NAME) by the variable's value, $$ by $, and leaves
// references to unknown variables as they are, which is Kubernetes' rule
// (kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables).
func expand(text string, known *variables) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			out.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(text[i+2:], ')')
			if end < 0 {
				out.WriteByte('$')
				continue
			}
			name := text[i+2 : i+2+end]
			if value, ok := known.values[name]; ok {
				out.WriteString(value)
			} else {
				out.WriteString("$(" + name + ")")
			}
			i += 2 + end
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

func expandAll(texts []string, env []string) []string {
	known, out := newVariables(env), make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, expand(text, known))
	}
	return out
}

// commandLine joins the image's and the pod's idea of what to run: a pod's
// command replaces the image's entrypoint and arguments, its args replace the
// image's arguments only.
func commandLine(entrypoint, cmd []string, c *corev1.Container, env []string) []string {
	switch {
	case len(c.Command) > 0:
		entrypoint, cmd = expandAll(c.Command, env), expandAll(c.Args, env)
	case len(c.Args) > 0:
		cmd = expandAll(c.Args, env)
	}
	return slices.Concat(entrypoint, cmd)
}
