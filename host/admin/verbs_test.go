package admin

import (
	"reflect"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
)

// TestTheClientHasEveryVerb checks that a Client has every verb of an Operator, since commands
// use either.
func TestTheClientHasEveryVerb(t *testing.T) {
	t.Parallel()
	const (
		options  = "it says how an Operator works, which a server decides itself"
		part     = "it is a part of what the server does for a verb of another name"
		registry = "it goes by nodes of the registry, which a server sends as they are, or not at all"
	)
	without := map[string]string{
		"As": options, "Compare": options, "DryRun": options, "OnlyIf": options, "ReadLogs": options, "Recall": options, "Record": options, "WarnOf": options,
		"BringModule": part, "Checkups": part, "Deeds": part, "JobsPage": part, "NameModule": part, "Node": part, "Note": part, "Unlisted": part,
		"ItemState": registry, "InForce": registry, "Kept": registry, "Namespace": registry, "Plan": registry,
		"FirstToken": "a server does it at its start",
		"SignIn":     "a browser does it", "SignOut": "a browser does it",
	}
	client, verbs := reflect.TypeFor[*Client](), reflect.TypeFor[*operator.Operator]()
	for m := range verbs.Methods() {
		_, has := client.MethodByName(m.Name)
		if has == (without[m.Name] != "") {
			t.Errorf("%s: a method of the Client is %v, and a reason for having none is %q", m.Name, has, without[m.Name])
		}
		delete(without, m.Name)
	}
	for name := range without {
		t.Errorf("an Operator has no method %s", name)
	}
}
