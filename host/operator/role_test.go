package operator

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
)

// Each role has exactly these rights, and an unknown role has none.
func TestRoles(t *testing.T) {
	t.Parallel()
	for role, want := range map[Role]string{
		RoleViewer: "y---", RoleOperator: "yy--", RolePublisher: "y-y-", RoleAdmin: "yyyy", "": "----", "Admin": "----", "root": "----",
	} {
		got := ""
		for _, do := range []Right{View, Operate, Publish, Administer} {
			err := Caller{"ann", role}.Allow(do)
			if role.May(do) {
				got += "y"
			} else {
				got += "-"
				wantCode(t, string(role), err, host.Denied)
			}
			if (err == nil) != role.May(do) {
				t.Errorf("role %q, right %d: Allow says %v", role, do, err)
			}
		}
		if got != want {
			t.Errorf("role %q has %s, want %s", role, got, want)
		}
	}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, role := range Roles() {
		if got, err := ParseRole(string(role)); got != role || err != nil {
			t.Errorf("%s: %s, %v", role, got, err)
		}
	}
	for name, hint := range map[string]string{"": "write one of viewer, operator, publisher, admin", "Admin": `did you mean "admin"?`, "viewers": `did you mean "viewer"?`} {
		role, err := ParseRole(name)
		wantCode(t, name, err, host.Invalid)
		if role != "" || err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %q, %v", name, role, err)
		}
	}
}
