// Package conformance checks hosts and SDKs by version 1 of the ABI.
//
// A host is checked by modules in the text format, wat/*.wat, kept with their
// built files; an SDK by the guest that it builds as GUEST.md says. Each is a
// list of cases: a Request to a Host, and what its Answer must show. A host
// written in another language, or in another program, joins in by reading
// requests and writing answers as lines of JSON: see Command and Serve.
//
// The package is for authors of hosts and SDKs, inside this project and outside. It
// knows nothing of the host that comes with it.
//
// The flow:
//
//	HostCases, GuestCases   the lists
//	Play                    plays a list on a Host, a Verdict for each case
//	Print                   the table: a row for each case, a column for each guest
package conformance
