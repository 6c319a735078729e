package nodeagent

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// objectTimeout bounds one read of an object: the API server is on this machine.
const objectTimeout = 10 * time.Second

// apiObjects reads objects when they are needed.
type apiObjects struct{ client kubernetes.Interface }

func (o apiObjects) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(context.Background(), objectTimeout)
	defer cancel()
	return o.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (o apiObjects) Secret(namespace, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(context.Background(), objectTimeout)
	defer cancel()
	return o.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// tokens issues a pod's service account tokens, and issues new ones once they
// have lived most of their time.
type tokens struct {
	client kubernetes.Interface
	now    func() time.Time
	mu     sync.Mutex
	issued map[string]issuedToken // by audience and path
}

type issuedToken struct {
	token string
	renew time.Time
}

func newTokens(client kubernetes.Interface) *tokens {
	return &tokens{client: client, now: time.Now, issued: map[string]issuedToken{}}
}

// Token gives a token that is bound to the pod.
func (t *tokens) Token(ctx context.Context, pod *corev1.Pod, projection *corev1.ServiceAccountTokenProjection) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := projection.Audience + " " + projection.Path
	if known, ok := t.issued[key]; ok && t.now().Before(known.renew) {
		return known.token, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: projection.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if projection.Audience != "" {
		request.Spec.Audiences = []string{projection.Audience}
	}
	answer, err := t.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for service account %q: %w", pod.Spec.ServiceAccountName, err)
	}
	now := t.now()
	// At 80 % of the life, as kubelets do.
	life := answer.Status.ExpirationTimestamp.Sub(now)
	t.issued[key] = issuedToken{token: answer.Status.Token, renew: now.Add(life * 4 / 5)}
	return answer.Status.Token, nil
}
