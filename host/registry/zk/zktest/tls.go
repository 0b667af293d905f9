package zktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Secure returns configuration lines that make a server accept TLS on another port. In dir it
// writes key.pem and cert.pem, a certificate for localhost that is also the trusted authority.
// clientAuth is "need" if clients must present a certificate, which may be the same; else
// "none".
func Secure(t testing.TB, dir string, port, clientAuth string) []string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": private, "both.pem": append(private, cert...)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"secureClientPort=" + port,
		"ssl.keyStore.location=" + filepath.Join(dir, "both.pem"), "ssl.keyStore.type=PEM",
		"ssl.trustStore.location=" + filepath.Join(dir, "cert.pem"), "ssl.trustStore.type=PEM",
		"ssl.clientAuth=" + clientAuth,
	}
}
