package oci

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxCredentials is the limit of a file with credentials, in bytes.
const maxCredentials = 1 << 20

// Credential is who asks a registry; the zero value is anybody.
type Credential struct {
	User, Password string
	IdentityToken  string // which the registry has given for them, and exchanges for others
}

// CredentialIn returns who asks a registry by a file that "docker login" and "oras login" write.
// Programs that the file names are not started. Without file or entry that is anybody.
func CredentialIn(path, host string) (Credential, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Credential{}, nil
	}
	if err != nil {
		return Credential{}, fmt.Errorf("read credentials: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err != nil || len(text) > maxCredentials {
		return Credential{}, errors.Join(fmt.Errorf("read credentials in %s: it has more than %d bytes, or", path, maxCredentials), err)
	}
	var all struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			IdentityToken string `json:"identitytoken"`
		} `json:"auths"`
	}
	// What is wrong is not said: it may be a secret.
	if json.Unmarshal(text, &all) != nil {
		return Credential{}, fmt.Errorf("read credentials in %s: it is not JSON as docker login writes it", path)
	}
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // as docker login calls it
	}
	entry := all.Auths[host]
	if entry.Auth == "" {
		return Credential{IdentityToken: entry.IdentityToken}, nil
	}
	plain, err := base64.StdEncoding.DecodeString(entry.Auth)
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return Credential{}, fmt.Errorf("read credentials in %s: those of %s are not USER:PASSWORD in Base64", path, host)
	}
	return Credential{user, password, entry.IdentityToken}, nil
}
