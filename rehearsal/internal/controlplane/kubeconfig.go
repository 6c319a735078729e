package controlplane

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig returns the path of the kubeconfig of one identity.
func (c *ControlPlane) kubeconfig(identity string) string {
	return filepath.Join(c.config.Dir, identity+".kubeconfig")
}

// writeKubeconfigs writes a kubeconfig for each client of the API server, and one with which the
// API server calls the token webhook.
func (c *ControlPlane) writeKubeconfigs() error {
	for identity, credentials := range map[string]pair{
		"admin": c.pki.admin, "controller-manager": c.pki.controllerManager, "scheduler": c.pki.scheduler,
	} {
		cluster := &api.Cluster{Server: c.Endpoint(), CertificateAuthorityData: c.CAPEM()}
		user := &api.AuthInfo{ClientCertificateData: credentials.certPEM,
			ClientKeyData: credentials.keyPEM}
		if err := c.writeKubeconfig(identity, cluster, user); err != nil {
			return err
		}
	}
	if c.config.TokenWebhookURL == "" {
		return nil
	}
	return c.writeKubeconfig("token-webhook", &api.Cluster{Server: c.config.TokenWebhookURL},
		&api.AuthInfo{})
}

func (c *ControlPlane) writeKubeconfig(
	identity string, cluster *api.Cluster, user *api.AuthInfo,
) error {
	config := api.NewConfig()
	config.Clusters[c.config.ClusterName] = cluster
	config.AuthInfos[identity] = user
	config.Contexts[c.config.ClusterName] = &api.Context{Cluster: c.config.ClusterName,
		AuthInfo: identity}
	config.CurrentContext = c.config.ClusterName
	if err := clientcmd.WriteToFile(*config, c.kubeconfig(identity)); err != nil {
		return fmt.Errorf("writing the kubeconfig of %q: %w", identity, err)
	}
	return nil
}
