// Package outbound sends the HTTP requests of guests if the job's grants allow them.
// A Client checks each request, each redirect, and each address before it connects,
// so that neither a redirect nor a name server can lead a guest to a private host.
//
// The package does not parse the text that a guest writes, count calls or limit
// bodies; the sandbox does. It has no proxy, no cookies and no cache.
//
// The flow:
//
//	Parse   text of a grant → Grant, which config compares with the grant limit
//	New     grants → Client
//	Do      request → headers → grants → dial, each address → response
//	        └── redirect → headers removed → grants → …
package outbound
