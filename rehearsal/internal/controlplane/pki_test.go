package controlplane

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPIServerCertificateCoversEveryWayToReachIt(t *testing.T) {
	pki, err := loadPKI(t.TempDir(), Config{ClusterName: "c", ServiceCIDR: "172.20.0.0/16",
		ExtraSANs: []string{"10.0.0.1", "proxy.local"}})
	require.NoError(t, err)
	content, err := os.ReadFile(pki.path("apiserver.crt"))
	require.NoError(t, err)
	block, _ := pem.Decode(content)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "172.20.0.1", "10.0.0.1", "proxy.local",
		"kubernetes.default.svc"} {
		_, err := certificate.Verify(x509.VerifyOptions{DNSName: host, Roots: pki.ClientCAs()})
		assert.NoError(t, err, host)
	}
	_, err = certificate.Verify(x509.VerifyOptions{DNSName: "10.0.0.2", Roots: pki.ClientCAs()})
	assert.Error(t, err)
}

func TestServingCertificateNamesItsHosts(t *testing.T) {
	pki, err := loadPKI(t.TempDir(), Config{ClusterName: "c", ServiceCIDR: "172.20.0.0/16"})
	require.NoError(t, err)
	issued, err := pki.ServingCertificate("127.0.0.1", "node-a")
	require.NoError(t, err)
	assert.NoError(t, issued.Leaf.VerifyHostname("node-a"))
	_, err = pki.ServingCertificate()
	assert.Error(t, err, "a certificate without hosts")
}

func TestAuthorityAndTokensKeyOutliveAStart(t *testing.T) {
	dir := t.TempDir()
	config := Config{ClusterName: "c", ServiceCIDR: "172.20.0.0/16"}
	first, err := loadPKI(dir, config)
	require.NoError(t, err)
	key, err := os.ReadFile(first.path("sa.key"))
	require.NoError(t, err)
	second, err := loadPKI(dir, config)
	require.NoError(t, err)
	assert.Equal(t, first.CAPEM(), second.CAPEM())
	keyAgain, err := os.ReadFile(second.path("sa.key"))
	require.NoError(t, err)
	assert.Equal(t, key, keyAgain)
}

func TestPortsStayTheSameWhileTheyAreFree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	first, err := choosePorts(file)
	require.NoError(t, err)
	second, err := choosePorts(file)
	require.NoError(t, err)
	assert.Equal(t, first, second)
	seen := map[int]bool{}
	for _, port := range first.all() {
		assert.GreaterOrEqual(t, *port, firstPort)
		assert.LessOrEqual(t, *port, lastPort)
		assert.False(t, seen[*port], "port %d twice", *port)
		seen[*port] = true
	}
}
