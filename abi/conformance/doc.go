// Package conformance checks hosts and SDKs against version 1 of the ABI.
//
// A host is checked with modules in the text format, wat/*.wat, kept with their built
// files; an SDK with the guest that it builds as described in GUEST.md. Each check is a
// list of cases: a Request to a Host, and what its Answer must contain. A host in another
// language, or in another program, reads requests and writes answers as lines of JSON:
// see Command and Serve.
//
// The package is for authors of hosts and SDKs, inside and outside this project. It does
// not depend on this project's host.
//
// The flow:
//
//	HostCases, GuestCases   the lists
//	Play                    plays a list on a Host, a Verdict for each case
//	Print                   the table: a row for each case, a column for each guest
package conformance
