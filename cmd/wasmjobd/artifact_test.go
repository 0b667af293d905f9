package main

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/internal/oci"
)

// The credentials of the environment apply to one registry, as references spell it.
func TestCredentialsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		registry string
		user     string
		says     string
	}{
		{registry: "registry.example:5000", user: "ann"},
		{registry: "registry.example"},
		{registry: "", says: "set OCI_REGISTRY"},
		{registry: "https://registry.example:5000", says: "set OCI_REGISTRY"},
		{registry: "registry.example:5000/team", says: "set OCI_REGISTRY"},
	} {
		c := artifacts(&terminal{env: []string{"OCI_REGISTRY=" + tt.registry, "OCI_USER=ann", "OCI_PASSWORD=open sesame"}})
		who, err := c.Credential("registry.example:5000")
		if who.User != tt.user || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %q, %v", tt.registry, who.User, err)
		}
	}
	c := artifacts(&terminal{env: []string{"OCI_REGISTRY=https://registry.example"}})
	if who, err := c.Credential("registry.example"); who != (oci.Credential{}) || err != nil {
		t.Errorf("without OCI_USER: %v", err)
	}
}
