package controlplane_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/controlplane"
)

func TestTheWebhookDecidesWhoATokenBelongsTo(t *testing.T) {
	groups := map[string][]string{"token-of-admin": {"system:masters"},
		"token-of-guest": {"guests"}}
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if known, ok := groups[review.Spec.Token]; ok {
			review.Status = authv1.TokenReviewStatus{Authenticated: true,
				User: authv1.UserInfo{Username: review.Spec.Token, Groups: known}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer webhook.Close()
	plane := start(t, controlplane.Config{
		Dir: t.TempDir(), Tools: tools(t).Kubernetes, ClusterName: "tokens", TokenWebhookURL: webhook.URL,
	})
	for _, test := range []struct {
		token string
		want  func(error) bool
	}{
		{"token-of-admin", func(err error) bool { return err == nil }},
		{"token-of-guest", apierrors.IsForbidden},
		{"token-of-no-user", apierrors.IsUnauthorized},
	} {
		t.Run(test.token, func(t *testing.T) {
			config := rest.AnonymousClientConfig(plane.AdminConfig())
			config.BearerToken = test.token
			api, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			_, err = api.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
			assert.True(t, test.want(err), "%v", err)
		})
	}
}
