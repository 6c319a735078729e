package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// authorityLife is longer than any rehearsal.
	authorityLife = 10 * 365 * 24 * time.Hour
	// leafLife may be shorter: each start issues new leaf certificates.
	leafLife = 365 * 24 * time.Hour
	// clockSkew allows for a clock that was set back a little after the certificate was issued.
	clockSkew = time.Hour
)

// PKI is a control plane's certificate authority and the certificates that it issued. The authority
// and the key of service account tokens stay the same across starts, so that kubeconfigs and tokens
// in pods stay valid.
type PKI struct {
	dir       string
	authority authority

	admin, controllerManager, scheduler, kubeletClient pair
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// pair is a certificate and its key, PEM encoded.
type pair struct{ certPEM, keyPEM []byte }

// subject is the subject of a certificate: a user with its groups, or a server with its names.
type subject struct {
	name   string
	groups []string
	hosts  []string
}

// CAPEM returns the authority's certificate, PEM encoded.
func (p *PKI) CAPEM() []byte { return p.authority.pem }

// ClientCAs returns the pool that verifies client certificates of this authority, such as the one
// that the API server presents to kubelets.
func (p *PKI) ClientCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.authority.certificate)
	return pool
}

// ServingCertificate issues a server certificate for the given names and addresses, which the API
// server accepts from a kubelet.
func (p *PKI) ServingCertificate(hosts ...string) (tls.Certificate, error) {
	if len(hosts) == 0 {
		return tls.Certificate{}, errors.New("issuing a serving certificate: no host was named")
	}
	issued, err := p.authority.issue(subject{name: hosts[0], hosts: hosts})
	if err != nil {
		return tls.Certificate{}, err
	}
	certificate, err := tls.X509KeyPair(issued.certPEM, issued.keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading back the serving certificate for %q: %w",
			hosts, err)
	}
	return certificate, nil
}

// path returns the path of a file of the PKI.
func (p *PKI) path(name string) string { return filepath.Join(p.dir, name) }

// loadPKI reads the authority in dir, or creates one, and issues the control plane's certificates.
func loadPKI(dir string, config Config) (*PKI, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making folder %q: %w", dir, err)
	}
	pki := &PKI{dir: dir}
	var err error
	if pki.authority, err = loadAuthority(pki.path("ca.crt"), pki.path("ca.key"),
		config.ClusterName); err != nil {
		return nil, err
	}
	if err := ensureServiceAccountKey(pki.path("sa.key"), pki.path("sa.pub")); err != nil {
		return nil, err
	}
	serverHosts, err := apiServerHosts(config)
	if err != nil {
		return nil, err
	}
	for _, leaf := range []struct {
		file string
		keep *pair
		of   subject
	}{
		// system:masters may do everything, regardless of RBAC.
		{"admin", &pki.admin, subject{name: "raytrain-rehearsal",
			groups: []string{"system:masters"}}},
		{"controller-manager", &pki.controllerManager,
			subject{name: "system:kube-controller-manager"}},
		{"scheduler", &pki.scheduler, subject{name: "system:kube-scheduler"}},
		{"kubelet-client", &pki.kubeletClient,
			subject{name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}}},
		{"apiserver", new(pair), subject{name: "kube-apiserver", hosts: serverHosts}},
		{"local", new(pair), subject{name: "localhost", hosts: []string{"localhost", "127.0.0.1"}}},
	} {
		if *leaf.keep, err = pki.authority.issue(leaf.of); err != nil {
			return nil, err
		}
		if err := leaf.keep.write(pki.path(leaf.file)); err != nil {
			return nil, err
		}
	}
	return pki, nil
}

// apiServerHosts returns the names and addresses of the API server. Pods use those of its Service.
func apiServerHosts(config Config) ([]string, error) {
	_, services, err := net.ParseCIDR(config.ServiceCIDR)
	if err != nil {
		return nil, fmt.Errorf("reading service range %q: %w", config.ServiceCIDR, err)
	}
	// The Service named kubernetes always gets the first address of the range.
	first := new(big.Int).Add(new(big.Int).SetBytes(services.IP), big.NewInt(1)).Bytes()
	hosts := []string{
		"localhost", "127.0.0.1", net.IP(first).String(),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	return append(hosts, config.ExtraSANs...), nil
}

// loadAuthority reads the authority, or creates one if there is none.
func loadAuthority(certPath, keyPath, clusterName string) (authority, error) {
	certPEM, certErr := os.ReadFile(certPath)
	keyPEM, keyErr := os.ReadFile(keyPath)
	if errors.Is(certErr, os.ErrNotExist) || errors.Is(keyErr, os.ErrNotExist) {
		return newAuthority(certPath, keyPath, clusterName)
	}
	if err := errors.Join(certErr, keyErr); err != nil {
		return authority{}, fmt.Errorf("reading the certificate authority: %w", err)
	}
	loaded, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return authority{}, fmt.Errorf("reading the certificate authority %q: %w", certPath, err)
	}
	key, ok := loaded.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return authority{}, fmt.Errorf("reading the certificate authority %q: its key is a %T, not an elliptic curve key", certPath, loaded.PrivateKey)
	}
	return authority{certificate: loaded.Leaf, key: key, pem: certPEM}, nil
}

// newAuthority creates and stores a self-signed authority.
func newAuthority(certPath, keyPath, clusterName string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("making the authority's key: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "rehearsed " + clusterName},
		NotBefore:    time.Now().Add(-clockSkew), NotAfter: time.Now().Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, fmt.Errorf("signing the authority's own certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("reading back the authority's certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return authority{}, err
	}
	made := authority{certificate: certificate, key: key, pem: encodePEM("CERTIFICATE", der)}
	return made, errors.Join(os.WriteFile(certPath, made.pem, 0o644),
		os.WriteFile(keyPath, keyPEM, 0o600))
}

// issue signs a certificate for clients and servers: some components, such as kubelets, are both.
func (a authority) issue(to subject) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making a key for %q: %w", to.name, err)
	}
	serial, err := serialNumber()
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: to.name, Organization: to.groups},
		NotBefore:    time.Now().Add(-clockSkew), NotAfter: time.Now().Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range to.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("signing a certificate for %q: %w", to.name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certPEM: encodePEM("CERTIFICATE", der), keyPEM: keyPEM}, nil
}

// write writes the pair to base.crt and base.key.
func (p pair) write(base string) error {
	if err := os.WriteFile(base+".crt", p.certPEM, 0o644); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	if err := os.WriteFile(base+".key", p.keyPEM, 0o600); err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	return nil
}

// ensureServiceAccountKey creates the key pair that signs and verifies service account tokens,
// unless it exists.
func ensureServiceAccountKey(keyPath, publicPath string) error {
	if _, err := os.Stat(publicPath); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the service accounts' key: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding the service accounts' public key: %w", err)
	}
	if err := os.WriteFile(keyPath, keyPEM, 0o600); err != nil {
		return fmt.Errorf("writing the service accounts' key: %w", err)
	}
	// The public part is written last: its existence means that both exist.
	if err := os.WriteFile(publicPath, encodePEM("PUBLIC KEY", public), 0o644); err != nil {
		return fmt.Errorf("writing the service accounts' public key: %w", err)
	}
	return nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	return serial, nil
}
