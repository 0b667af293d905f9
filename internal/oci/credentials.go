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

// CredentialIn returns who asks a registry by a file that "docker login" and "oras login" write.
// Programs that the file names are not started. Without file or entry that is anybody.
func CredentialIn(path, host string) (user, password string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read credentials: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err != nil || len(text) > maxCredentials {
		return "", "", errors.Join(fmt.Errorf("read credentials in %s: it has more than %d bytes, or", path, maxCredentials), err)
	}
	var all struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
	}
	// What is wrong is not said: it may be a secret.
	if json.Unmarshal(text, &all) != nil {
		return "", "", fmt.Errorf("read credentials in %s: it is not JSON as docker login writes it", path)
	}
	entry := all.Auths[host].Auth
	if entry == "" {
		return "", "", nil
	}
	plain, err := base64.StdEncoding.DecodeString(entry)
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return "", "", fmt.Errorf("read credentials in %s: those of %s are not USER:PASSWORD in Base64", path, host)
	}
	return user, password, nil
}
