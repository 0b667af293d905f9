package config

import (
	"maps"
	"slices"
	"strings"
)

// Context says how one person's commands reach a server.
type Context struct {
	Name    string
	Address string // like https://host:8680
	// TokenFile contains the token, CA the certificate authorities of the server, Cert and Key
	// the client's certificate; "": none. Relative paths start at the folder of the file.
	TokenFile, CA, Cert, Key string
}

// contextKeys returns every key of a file of contexts.
func contextKeys() []key {
	const table = "contexts.*."
	return []key{
		{path: table + "address", takes: text},
		{path: table + "token_file", takes: text},
		{path: table + "ca", takes: text},
		{path: table + "cert", takes: text},
		{path: table + "key", takes: text},
	}
}

// LoadContexts reads a file of contexts, sorted by name. If anything is wrong, the error is a
// Problems with all faults.
func LoadContexts(path string, env []string) ([]Context, error) {
	r := newReaderOf(contextKeys(), Options{Env: env})
	if s, ok := r.open(path); ok {
		r.add(s)
	}
	b := &builder{reader: r}
	var all []Context
	for _, table := range inside(slices.Sorted(maps.Keys(r.named)), "contexts.") {
		file := func(key string) string {
			if get(b, "", table+"."+key) == "" {
				return ""
			}
			return b.path(table+"."+key, "")
		}
		all = append(all, Context{
			Name: unquoteKey(strings.TrimPrefix(table, "contexts.")), Address: get(b, "", table+".address"),
			TokenFile: file("token_file"), CA: file("ca"), Cert: file("cert"), Key: file("key"),
		})
	}
	if len(r.problems) > 0 {
		return nil, r.problems.sorted(r.order)
	}
	return all, nil
}
