package module

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// artifactSuffix ends the names of files that record the module of an artifact.
const artifactSuffix = ".artifact"

// artifactPath returns the file for an artifact, by the digest of its manifest in hex.
func (s *Store) artifactPath(manifest string) string {
	return filepath.Join(s.dir, manifest+artifactSuffix)
}

// Remember records that the artifact with a manifest holds a module. That never changes,
// because the manifest is identified by its digest, as sha256:HEX.
func (s *Store) Remember(manifest, digest string) error {
	manifest = strings.TrimPrefix(manifest, "sha256:")
	if err := errors.Join(CheckDigest(manifest), CheckDigest(digest)); err != nil {
		return err
	}
	f, err := s.create()
	if err != nil {
		return err
	}
	if _, err = f.WriteString(digest); err == nil {
		err = s.keep(f, s.artifactPath(manifest))
	}
	return errors.Join(err, discard(f))
}

// Remembered returns the module of the artifact with a manifest, or "" if it is unknown.
func (s *Store) Remembered(manifest string) string {
	manifest = strings.TrimPrefix(manifest, "sha256:")
	if CheckDigest(manifest) != nil {
		return ""
	}
	text, err := readFile(s.artifactPath(manifest), 64)
	if err != nil || CheckDigest(string(text)) != nil {
		return "" // the caller pulls the artifact, which repairs the record
	}
	return string(text)
}

// pruneArtifacts removes the records of artifacts with a module that was removed.
func (s *Store) pruneArtifacts(digest string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("prune modules: %w", err)
	}
	for _, e := range entries {
		if manifest, ok := strings.CutSuffix(e.Name(), artifactSuffix); ok && s.Remembered(manifest) == digest {
			if err := ignoreMissing(os.Remove(s.artifactPath(manifest))); err != nil {
				return err
			}
		}
	}
	return nil
}
