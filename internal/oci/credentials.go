package oci

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFile is the limit of a file with credentials or certificates, in bytes.
const maxFile = 1 << 20

// Credential identifies a user of a registry; the zero value is anonymous.
type Credential struct {
	User, Password string
	IdentityToken  string // of the registry, which exchanges it for access tokens
	Elsewhere      bool   // a credential helper, which is not started, has them
}

// FilesOf returns the paths of the files that environment variables name: of the credentials that docker
// login writes, and of certificates. "" is no file.
func FilesOf(variable func(name string) (string, bool)) (credentials, ca string) {
	ca, _ = variable("OCI_CA")
	if dir, _ := variable("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json"), ca
	}
	if home, _ := variable("HOME"); home != "" {
		return filepath.Join(home, ".docker", "config.json"), ca
	}
	return "", ca
}

// CredentialIn returns the credential for a registry in a file that "docker login" or "oras login" has
// written. It starts no credential helper. Without a file or an entry, the credential is anonymous.
func CredentialIn(path, host string) (Credential, error) {
	if path == "" {
		return Credential{}, nil
	}
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Credential{}, nil
	}
	if err != nil {
		return Credential{}, fmt.Errorf("read credentials: %w", err)
	}
	var all struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			IdentityToken string `json:"identitytoken"`
		} `json:"auths"`
		Store   string            `json:"credsStore"`
		Helpers map[string]string `json:"credHelpers"`
	}
	// The error of json is left out, since it may show a secret.
	if json.Unmarshal(text, &all) != nil {
		return Credential{}, fmt.Errorf("read credentials in %s: it is not JSON as docker login writes it", path)
	}
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // as docker login calls it
	}
	// With a helper, docker login leaves an empty entry for the registry.
	entry, found := all.Auths[host]
	if entry.Auth == "" {
		elsewhere := entry.IdentityToken == "" && (found && all.Store != "" || all.Helpers[host] != "")
		return Credential{IdentityToken: entry.IdentityToken, Elsewhere: elsewhere}, nil
	}
	plain, err := base64.StdEncoding.DecodeString(entry.Auth)
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return Credential{}, fmt.Errorf("read credentials in %s: those of %s are not USER:PASSWORD in Base64", path, host)
	}
	return Credential{User: user, Password: password, IdentityToken: entry.IdentityToken}, nil
}

// readFile reads a file with credentials or certificates.
func readFile(path string) ([]byte, error) {
	// Opening a pipe would wait for a writer.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return text, err
}
