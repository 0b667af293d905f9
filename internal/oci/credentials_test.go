package oci

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// password is ann's at a registry with accounts, and hashed is its hash there.
const (
	password = "open sesame"
	hashed   = "$2a$04$QnGVEH7M4z.dnQeSmpeeh.o6VGVka78bAI6SZfwgrMbVsbErSLkQG" // of bcrypt
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// certified is a self-signed certificate for this machine, which is also its authority.
type certified struct {
	der               []byte
	key               *ecdsa.PrivateKey
	certPath, keyPath string
}

func certificate(t *testing.T) certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "modules"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := certified{der, key, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{c.certPath: {Type: "CERTIFICATE", Bytes: der}, c.keyPath: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// ofRegistry is the part about TLS of a registry's configuration.
func (c certified) ofRegistry() string {
	return fmt.Sprintf(", tls: {certificate: %s, key: %s}", c.certPath, c.keyPath)
}

// accounts is the part of a registry's configuration that names a file with ann's account.
func accounts(t *testing.T) string {
	t.Helper()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("ann:"+hashed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "auth: {htpasswd: {realm: modules, path: " + users + "}}\n"
}

// login writes a file as docker login does, with an entry beside other ones.
func login(t *testing.T, path, at, entry string) {
	t.Helper()
	text := fmt.Sprintf(`{"auths":{%q:{%s},"registry.example":{"auth":"eA=="}},"credsStore":"desktop"}`, at, entry)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// asking returns a client with the credentials of a file.
func asking(file, ca string) Client {
	c := client
	c.CA = ca
	c.Credential = func(host string) (Credential, error) { return CredentialIn(file, host) }
	return c
}

// wantHidden fails unless an error has a text, is short, and has no secret, plain or in Base64.
func wantHidden(t *testing.T, what string, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, and not %q", what, err, says)
		return
	}
	if len(err.Error()) > 1000 {
		t.Errorf("%s: the error has %d bytes", what, len(err.Error()))
	}
	for _, secret := range []string{"signature=open", password, "wrong password", encoded("ann:" + password), encoded("ann:wrong password"), "identity of ann"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error has %q: %v", what, secret, err)
		}
	}
}

// Without credentials, or with wrong ones, a client gets nothing, and no error shows them, with and
// without TLS. The certificate for TLS has to be trusted by the system or a file.
func TestCredentials(t *testing.T) {
	t.Parallel()
	cert := certificate(t)
	for name, tt := range map[string]struct{ tls, ca string }{"plain": {}, "TLS": {cert.ofRegistry(), cert.certPath}} {
		at := registryOf(t, tt.tls, accounts(t))
		ref, m := parsed(t, "oci://"+at+"/report:1"), Module{Wasm: []byte("hello")}
		file := filepath.Join(t.TempDir(), "config.json")
		asked := asking(file, tt.ca)
		_, err := asked.Push(t.Context(), ref, m)
		wantHidden(t, name+" without credentials", err, "credential not found")
		login(t, file, at, fmt.Sprintf(`"auth":%q`, encoded("ann:wrong password")))
		_, err = asked.Push(t.Context(), ref, m)
		wantHidden(t, name+" with wrong ones", err, "answers 401 Unauthorized")
		login(t, file, at, fmt.Sprintf(`"auth":%q`, encoded("ann:"+password)))
		if _, err := asked.Push(t.Context(), ref, m); err != nil {
			t.Error(name, err)
		}
		if got, _, err := asked.Pull(t.Context(), ref); err != nil || string(got.Wasm) != "hello" {
			t.Errorf("%s: %q, %v", name, got.Wasm, err)
		}
		if tt.ca == "" {
			continue
		}
		_, _, err = asking(file, "").Pull(t.Context(), ref)
		wantHidden(t, "a certificate that nobody knows", err, "certificate")
		_, _, err = asking(file, certificate(t).certPath).Pull(t.Context(), ref)
		wantHidden(t, "another certificate", err, "certificate")
		_, _, err = asking(file, cert.keyPath).Pull(t.Context(), ref)
		wantHidden(t, "no certificate", err, "has no certificate in PEM")
		_, _, err = asking(file, cert.certPath+"x").Pull(t.Context(), ref)
		wantHidden(t, "no file", err, "no such file")
	}
}

func TestFilesOfCredentials(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json")
	login(t, file, "127.0.0.1:1", `"auth":"`+encoded("ann:"+password)+`"`)
	if who, err := CredentialIn(file, "127.0.0.1:1"); who != (Credential{User: "ann", Password: password}) || err != nil {
		t.Errorf("ann: %v", err)
	}
	login(t, file, "https://index.docker.io/v1/", `"auth":"`+encoded("ann:"+password)+`"`)
	if who, err := CredentialIn(file, "docker.io"); who != (Credential{User: "ann", Password: password}) || err != nil {
		t.Errorf("ann at docker.io: %v", err)
	}
	_, err := CredentialIn(file, "registry.example")
	wantHidden(t, "no user", err, "not USER:PASSWORD")
	if err != nil && strings.Contains(err.Error(), "eA==") {
		t.Errorf("no user: %v", err)
	}
	for name, where := range map[string][2]string{"another registry": {file, "other.example"}, "another port": {file, "127.0.0.1:2"}, "no file": {file + "x", "127.0.0.1:1"}} {
		if who, err := CredentialIn(where[0], where[1]); who != (Credential{}) || err != nil {
			t.Errorf("%s: somebody, %v", name, err)
		}
	}
}

// An empty variable counts as unset, and the working directory is not searched.
func TestFilesOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		variables       map[string]string
		credentials, ca string
	}{
		{map[string]string{"DOCKER_CONFIG": "/d", "HOME": "/h", "OCI_CA": "/ca"}, "/d/config.json", "/ca"},
		{map[string]string{"DOCKER_CONFIG": "", "HOME": "/h"}, "/h/.docker/config.json", ""},
		{map[string]string{"DOCKER_CONFIG": "", "HOME": ""}, "", ""},
		{nil, "", ""},
	} {
		credentials, ca := FilesOf(func(name string) (string, bool) { value, found := tt.variables[name]; return value, found })
		if credentials != filepath.FromSlash(tt.credentials) || ca != tt.ca {
			t.Errorf("%v: %q, %q", tt.variables, credentials, ca)
		}
	}
	if who, err := CredentialIn("", "registry.example"); who != (Credential{}) || err != nil {
		t.Errorf("no file: somebody, %v", err)
	}
}

// A credential helper is not started, which the error says if access is denied. A public artifact is
// pulled nevertheless.
func TestCredentialsInAProgram(t *testing.T) {
	t.Parallel()
	at := registryOf(t, "", accounts(t))
	file := filepath.Join(t.TempDir(), "config.json")
	for text, elsewhere := range map[string]bool{
		`{"auths":{"` + at + `":{}},"credsStore":"desktop"}`:    true,
		`{"credHelpers":{"` + at + `":"gcloud"}}`:               true,
		`{"auths":{"other.example":{}},"credsStore":"desktop"}`: false,
		`{"auths":{"` + at + `":{}}}`:                           false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := asking(file, "").Pull(t.Context(), parsed(t, "oci://"+at+"/report:1"))
		wantHidden(t, text, err, "credential not found")
		if err != nil && strings.Contains(err.Error(), "a credential helper has the credentials, but is not started: set OCI_USER and OCI_PASSWORD") != elsewhere {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Neither a pipe nor a device blocks the read, or is read without end.
func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe"), filepath.Join(dir, "long")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skipf("left out: mkfifo: %s, %v", out, err)
	}
	if err := os.WriteFile(long, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{pipe: "is not a regular file", "/dev/zero": "is not a regular file", dir: "is not a regular file", long: "has more than 1048576 bytes"} {
		_, err := CredentialIn(path, "registry.example")
		wantHidden(t, "credentials", err, path+" "+says)
		c := client
		c.CA = path
		_, _, err = c.Pull(t.Context(), Reference{"registry.example", "report", "1", ""})
		wantHidden(t, "certificates", err, path+" "+says)
	}
}

// tokens is a server that exchanges ann's credentials for a token. Its errors repeat wrong
// credentials.
type tokens struct{ signer certified }

// ServeHTTP implements http.Handler.
func (s tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, given, _ := r.BasicAuth()
	if !(user == "ann" && given == password) && r.PostFormValue("refresh_token") != "identity of ann" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":"%s is not %s","detail":%q},{"code":%q}]}`, user, given, r.Header.Get("Authorization"), given)
		return
	}
	now := time.Now().Unix()
	type grant struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Actions []string `json:"actions"`
	}
	claims := map[string]any{
		"iss": "tokens", "sub": "ann", "aud": "modules", "iat": now, "nbf": now - 60, "exp": now + 60, "jti": "1",
		"access": []grant{{"repository", "report", []string{"pull", "push"}}},
	}
	token := s.part(map[string]any{"typ": "JWT", "alg": "ES256", "x5c": [][]byte{s.signer.der}}) + "." + s.part(claims)
	sum := sha256.Sum256([]byte(token))
	x, y, err := ecdsa.Sign(rand.Reader, s.signer.key, sum[:])
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	signature := append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)
	_ = json.NewEncoder(w).Encode(map[string]string{"access_token": token + "." + base64.RawURLEncoding.EncodeToString(signature)})
}

func (tokens) part(content map[string]any) string {
	text, _ := json.Marshal(content) //nolint:errchkjson // it has texts and numbers alone
	return base64.RawURLEncoding.EncodeToString(text)
}

// A registry with a token server gets a token for which the credentials were exchanged. The errors of
// the token server are not repeated.
func TestTokens(t *testing.T) {
	t.Parallel()
	cert := certificate(t)
	exchange := httptest.NewUnstartedServer(tokens{cert})
	exchange.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.der}, PrivateKey: cert.key}}, MinVersion: tls.VersionTLS12}
	exchange.StartTLS()
	defer exchange.Close()
	at := registryOf(t, cert.ofRegistry(), fmt.Sprintf("auth: {token: {realm: %s/token, service: modules, issuer: tokens, rootcertbundle: %s}}\n", exchange.URL, cert.certPath))
	file := filepath.Join(t.TempDir(), "config.json")
	asked := asking(file, cert.certPath)
	ref := parsed(t, "oci://"+at+"/report:1")
	for _, entry := range []string{`"auth":"` + encoded("ann:"+password) + `"`, `"auth":"` + encoded("00000000:") + `","identitytoken":"identity of ann"`} {
		login(t, file, at, entry)
		if _, err := asked.Push(t.Context(), ref, Module{Wasm: []byte("hello")}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := asked.Pull(t.Context(), ref); err != nil || string(got.Wasm) != "hello" {
			t.Errorf("%q, %v", got.Wasm, err)
		}
		_, err := asked.Push(t.Context(), parsed(t, "oci://"+at+"/other:1"), Module{Wasm: []byte("hello")})
		wantHidden(t, "a repository of others", err, "answers 401 Unauthorized")
	}
	login(t, file, at, `"auth":"`+encoded("ann:wrong password")+`"`)
	_, _, err := asked.Pull(t.Context(), ref)
	wantHidden(t, "with wrong ones", err, strings.TrimPrefix(exchange.URL, "https://")+" answers 401 Unauthorized, DENIED")
}
