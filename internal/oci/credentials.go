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

// Credential is who asks a registry; the zero value is anybody.
type Credential struct {
	User, Password string
	IdentityToken  string // which the registry has given for them, and exchanges for others
	Elsewhere      bool   // a program has them, which is not started
}

// FilesOf returns the paths of the files that variables of the environment name: with who asks registries,
// as docker login writes it, and with certificates. "" is no file.
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

// CredentialIn returns who asks a registry by a file that "docker login" and "oras login" write.
// Programs that the file names are not started. Without file or entry that is anybody.
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
	// What is wrong is not said: it may be a secret.
	if json.Unmarshal(text, &all) != nil {
		return Credential{}, fmt.Errorf("read credentials in %s: it is not JSON as docker login writes it", path)
	}
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // as docker login calls it
	}
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
	// Opening a pipe would wait for whoever writes to it.
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
