package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/api"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/eks"
	"github.com/ray-train-efa/ray-train-efa/rehearsal/internal/account/scheduler"
)

// Handler serves the account: POST /aws/{create,read,update,delete,invoke} for the provider,
// GET /inventory, GET and POST /faults, POST /lose-cluster/{cluster}, POST /token for the `aws`
// stand-in, POST /tokenreview/{cluster} as a Kubernetes token webhook, and POST / for AWS's SDK.
func (a *Account) Handler() http.Handler {
	mux := http.NewServeMux()
	post := func(path string, handler http.HandlerFunc) { mux.HandleFunc("POST "+path, handler) }
	for _, path := range []string{api.PathCreate, api.PathRead, api.PathUpdate, api.PathDelete} {
		post(path, serve(a.serveResource))
	}
	post(
		api.PathInvoke,
		serve(func(_ *http.Request, in api.InvokeRequest) (api.InvokeResponse, error) {
			result, err := a.Invoke(in.Token, in.Args)
			return api.InvokeResponse{Return: result}, err
		}),
	)
	post(api.PathToken, serve(func(_ *http.Request, in api.TokenRequest) (api.TokenResponse, error) {
		return eks.IssueToken(a.store, in.ClusterName, in.RoleARN)
	}))
	post(api.PathFaults, serve(func(r *http.Request, in api.Faults) (api.Faults, error) {
		// The nodes get the new facts even if the caller disconnects.
		return in, a.SetFaults(context.WithoutCancel(r.Context()), in)
	}))
	post(
		api.PathLoseCluster+"{cluster}",
		serve(func(r *http.Request, _ struct{}) (struct{}, error) {
			return struct{}{}, eks.LoseCluster(r.Context(), a.store, r.PathValue("cluster"))
		}),
	)
	post(api.PathTokenReview+"{cluster}", serve(a.reviewToken))
	post("/{$}", a.serveJSON)
	mux.HandleFunc("GET "+api.PathInventory, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, a.Inventory(), nil)
	})
	mux.HandleFunc("GET "+api.PathFaults, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, a.Faults(), nil)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// What a schedule has to do is done before anyone looks.
		if err := scheduler.Run(context.WithoutCancel(r.Context()), a.store); err != nil {
			reply(w, nil, err)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serve returns an HTTP handler for a function, with strict JSON decoding.
func serve[I, O any](f func(*http.Request, I) (O, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in I
		decoder := json.NewDecoder(r.Body)
		// Unknown fields are allowed only in a TokenReview.
		if !strings.HasPrefix(r.URL.Path, api.PathTokenReview) {
			decoder.DisallowUnknownFields()
		}
		if err := decoder.Decode(&in); err != nil {
			reply(w, nil,
				api.Errorf("ValidationError", "decoding the request to %s: %v", r.URL.Path, err))
			return
		}
		out, err := f(r, in)
		reply(w, out, err)
	}
}

func reply(w http.ResponseWriter, out any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		var awsError *api.Error
		if !errors.As(err, &awsError) {
			awsError = &api.Error{
				Operation:  "rehearsal",
				Code:       "InternalFailure",
				Message:    err.Error(),
				StatusCode: 500,
			}
		}
		status := awsError.StatusCode
		if status < 400 || status > 599 {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
		out = awsError
	}
	// The caller has disconnected.
	_ = json.NewEncoder(w).Encode(out)
}

// serveResource performs a request and logs it.
func (a *Account) serveResource(r *http.Request,
	in api.ResourceRequest) (api.ResourceResponse, error) {
	answer, err := a.operate(r, in)
	log := a.log.With("verb", strings.TrimPrefix(r.URL.Path, "/aws/"), "type", in.Type, "urn",
		in.URN, "id", cmp.Or(answer.ID, in.ID))
	switch {
	case err != nil:
		log.Info("refused", "error", err)
	case answer.Failed != nil:
		log.Info("failed", "error", answer.Failed)
	case r.URL.Path != api.PathRead:
		log.Info("done")
	}
	return answer, err
}

// reviewToken implements the Kubernetes token webhook.
// Source: Kubernetes, "Webhook Token Authentication".
func (a *Account) reviewToken(r *http.Request,
	in authenticationv1.TokenReview) (authenticationv1.TokenReview, error) {
	out := authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
	}
	cluster, username, groups, err := eks.Authenticate(a.store, in.Spec.Token)
	if err == nil && cluster != r.PathValue("cluster") {
		err = fmt.Errorf("%w: it is for cluster %q", eks.ErrTokenRefused, cluster)
	}
	if err != nil {
		a.log.Info("token refused", "cluster", r.PathValue("cluster"), "error", err)
		out.Status.Error = err.Error()
		return out, nil
	}
	out.Status.Authenticated = true
	out.Status.User = authenticationv1.UserInfo{
		Username: username,
		UID:      "aws-iam-authenticator:" + username,
		Groups:   groups,
	}
	return out, nil
}
