package config

import (
	"errors"
	"strings"
	"testing"
)

// No job may read the credentials for registries of artifacts, or write to the authority for
// their certificates.
func TestFilesOfRegistriesOfArtifactsArePrivate(t *testing.T) {
	t.Parallel()
	load := func(source string, dirs ...string) error {
		_, err := Parse("/etc/t.toml", []byte("[host.allow]\ndirs = ['rw:/s']\n[modules.m]\nsource = '"+source+"'\n[jobs.j]\nmodule = 'm'\nschedule = 'manual'\nallow.dirs = ['"+strings.Join(dirs, "', '")+"']\n"),
			Options{Env: []string{"DOCKER_CONFIG=/s/docker", "OCI_CA=/s/ca/cert.pem"}})
		return err
	}
	const artifact = "oci://registry.example/report:1"
	err := load(artifact, "ro:/s/docker:/a", "rw:/s/ca:/b", "ro:/s/ca:/c")
	problems, _ := errors.AsType[Problems](err)
	if len(problems) != 2 || !strings.Contains(problems[0].String(), "no job may reach the credentials for registries of artifacts, /s/docker/config.json") ||
		!strings.Contains(problems[1].String(), "the authority for certificates of registries of artifacts, /s/ca/cert.pem") {
		t.Errorf("%v", err)
	}
	for source, dirs := range map[string][]string{artifact: {"ro:/s/ca:/c"}, "m.wasm": {"ro:/s/docker:/a", "rw:/s/ca:/b"}} {
		if err := load(source, dirs...); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}
