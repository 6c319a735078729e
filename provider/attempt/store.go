package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ErrConcurrent means that another update changed the record in the meantime.
var ErrConcurrent = errors.New("another update is working on this job; next: wait until it ends, " +
	"then pulumi up")

// recordKey is the ConfigMap's only key.
const recordKey = "record.json"

// managedBy and manager are the label of every record.
const managedBy, manager = "app.kubernetes.io/managed-by", "raytrain"

// Newest returns the record in a namespace that was written last; nil when there is none.
func Newest(ctx context.Context, client kubernetes.Interface, namespace string) (*Record, error) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: managedBy + "=" + manager,
	})
	if err != nil {
		return nil, fmt.Errorf("listing attempt records in namespace %q: %w", namespace, err)
	}
	var (
		newest *Record
		at     time.Time
	)
	for i := range list.Items {
		var record Record
		if err := json.Unmarshal([]byte(list.Items[i].Data[recordKey]), &record); err != nil {
			return nil, fmt.Errorf("decoding attempt record %q in namespace %q: %w", list.Items[i].Name, namespace, err)
		}
		if written := lastWritten(&list.Items[i]); newest == nil || written.After(at) {
			newest, at = &record, written
		}
	}
	return newest, nil
}

// lastWritten returns when an object was last written.
func lastWritten(object *corev1.ConfigMap) time.Time {
	at := object.CreationTimestamp.Time
	for _, field := range object.ManagedFields {
		if field.Time != nil && field.Time.After(at) {
			at = field.Time.Time
		}
	}
	return at
}

// Store keeps one resource's record in a ConfigMap.
type Store struct {
	kubernetes kubernetes.Interface
	namespace  string
	name       string
	// exists and version are the record's as it was last read or written.
	exists  bool
	version string
}

// NewStore returns the store of the resource called name.
func NewStore(client kubernetes.Interface, namespace, name string) *Store {
	return &Store{kubernetes: client, namespace: namespace, name: "raytrain-" + name}
}

// Load returns the record; nil when there is none.
func (s *Store) Load(ctx context.Context) (*Record, error) {
	object, err := s.kubernetes.CoreV1().ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.exists, s.version = false, ""
		return nil, nil //nolint:nilnil // no record is a regular result, not an error
	}
	if err != nil {
		return nil, fmt.Errorf("reading attempt record %q in namespace %q: %w", s.name, s.namespace, err)
	}
	var record Record
	if err := json.Unmarshal([]byte(object.Data[recordKey]), &record); err != nil {
		return nil, fmt.Errorf("decoding attempt record %q in namespace %q: %w; "+
			"next: kubectl -n %s delete configmap %s (discards the record)",
			s.name, s.namespace, err, s.namespace, s.name)
	}
	s.exists, s.version = true, object.ResourceVersion
	return &record, nil
}

// Save writes the record, if it did not change since it was last read or written.
func (s *Store) Save(ctx context.Context, record Record) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encoding attempt record %q: %w", s.name, err)
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.name, Namespace: s.namespace, ResourceVersion: s.version,
			Labels: map[string]string{managedBy: manager},
		},
		Data: map[string]string{recordKey: string(text)},
	}
	maps := s.kubernetes.CoreV1().ConfigMaps(s.namespace)
	if !s.exists {
		object, err = maps.Create(ctx, object, metav1.CreateOptions{})
	} else {
		object, err = maps.Update(ctx, object, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("writing attempt record %q in namespace %q: %w", s.name, s.namespace, ErrConcurrent)
	}
	if err != nil {
		return fmt.Errorf("writing attempt record %q in namespace %q: %w", s.name, s.namespace, err)
	}
	s.exists, s.version = true, object.ResourceVersion
	return nil
}

// Settle saves the record as settled. If the write fails, it reads the record again, because the
// write may have succeeded or the version may be outdated.
func (s *Store) Settle(ctx context.Context, record Record) error {
	record.Settled = true
	err := s.Save(ctx, record)
	if err == nil {
		return nil
	}
	current, loadErr := s.Load(ctx)
	switch {
	case loadErr != nil:
		return errors.Join(err, loadErr)
	case current != nil && current.Nonce != record.Nonce:
		return fmt.Errorf("settling attempt %d: attempt %d began: %w", record.Number, current.Number, ErrConcurrent)
	case current != nil && current.Settled:
		return nil
	default:
		return s.Save(ctx, record)
	}
}
