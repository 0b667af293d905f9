package operator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

// Right is a kind of request. What a caller may ask for depends on the rights of its role.
type Right uint8

const (
	// View reads jobs, servers, histories and modules, and changes nothing.
	View Right = iota
	// Operate triggers, pauses, disables, reshards and ends jobs.
	Operate
	// Publish uploads modules, and sets the modules of jobs.
	Publish
	// Administer is all else: the definitions of jobs, tokens, the audit, reloads.
	Administer
)

// Role is what the bearer of a token may do. A role that this release does not know may
// do nothing.
type Role string

const (
	RoleViewer    Role = "viewer"
	RoleOperator  Role = "operator"
	RolePublisher Role = "publisher"
	RoleAdmin     Role = "admin"
)

// rights of each role. A publisher does not operate, nor does an operator publish.
var rights = map[Role][]Right{ // read only
	RoleViewer:    {View},
	RoleOperator:  {View, Operate},
	RolePublisher: {View, Publish},
	RoleAdmin:     {View, Operate, Publish, Administer},
}

// Roles lists all roles, the one with the fewest rights first.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RolePublisher, RoleAdmin} }

// May reports whether the role has a right.
func (r Role) May(do Right) bool { return slices.Contains(rights[r], do) }

// ParseRole returns the role of that name.
func ParseRole(name string) (Role, error) {
	if _, ok := rights[Role(name)]; ok {
		return Role(name), nil
	}
	var names []string
	for _, r := range Roles() {
		names = append(names, string(r))
	}
	hint := nearest.Question(name, names)
	if hint == "" {
		hint = "write one of " + strings.Join(names, ", ")
	}
	return "", failf(host.Invalid, nil, "there is no role %.64q; %s", name, hint)
}

// Caller is the sender of a request: the name of its token, and its role.
type Caller struct {
	Name string
	Role Role
}

// Allow returns an error of the code Denied if the caller's role does not have the right.
func (c Caller) Allow(do Right) error {
	if c.Role.May(do) {
		return nil
	}
	return failf(host.Denied, nil, "%s has the role %s, which does not allow this; it takes %s", c.Name, c.Role, whoMay(do))
}

// whoMay names the roles that have a right.
func whoMay(do Right) string {
	var names []string
	for _, r := range Roles() {
		if r.May(do) {
			names = append(names, string(r))
		}
	}
	return fmt.Sprintf("the role %s", strings.Join(names, " or "))
}
