package outbound

import (
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://api.example.com":              "",
		"https://api.example.com/":             "https://api.example.com",
		"https://api.example.com:443/v1/":      "https://api.example.com/v1",
		"http://api.example.com:443/v1":        "",
		"GET https://*.Example.ORG":            "GET https://*.example.org",
		"DELETE http://a_b.internal:8080/x/y":  "",
		"https://*":                            "",
		"https://*:443/":                       "https://*",
		"HEAD https://*":                       "",
		"http://127.0.0.1:8080":                "",
		"http://[::1]:8080/a":                  "",
		"http://[::ffff:10.0.0.1]":             "http://10.0.0.1",
		"http://[2001:DB8:0:0:0:0:0:1]":        "http://[2001:db8::1]",
		"http://localhost":                     "",
		"https://xn--bcher-kva.example":        "",
		"https://a/%41b%20c":                   "https://a/Ab%20c",
		"https://a/ü":                          "https://a/%C3%BC",
		"https://a/.well-known/x":              "",
		"https://a/%3Bx":                       "",
		"OPTIONS http://1a.example.1org/a;b=c": "OPTIONS http://1a.example.1org/a%3Bb=c",
	} {
		if want == "" {
			want = text
		}
		g, err := Parse(text)
		if err != nil || g.String() != want {
			t.Errorf("%s: %q, %v; want %s", text, g, err, want)
		}
	}
}

func TestParseReportsWhereTheFaultIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		at      int
		problem string
	}{
		"":                            {0, "no scheme"},
		"example.org":                 {0, "no scheme"},
		"GET":                         {0, "no scheme"},
		"GET  https://a":              {4, "too many spaces"},
		"get https://a":               {0, `"get" is not a method`},
		"CONNECT https://a":           {0, "not a method"},
		"TRACE https://a":             {0, "not a method"},
		"GET POST https://a":          {8, "too many spaces"},
		"https://a b":                 {0, "not a method"},
		"HTTPS://a":                   {0, "not a scheme"},
		"ftp://a":                     {0, "not a scheme"},
		"//a":                         {0, "no scheme"},
		"https://":                    {8, "no host"},
		"https:///x":                  {8, "no host"},
		"https://user@a":              {8, "a user"},
		"https://a:b@c":               {8, "a user"},
		"https://a/x@y?z":             {13, "query"},
		"https://a?b":                 {9, "query"},
		"GET https://a/#b":            {14, "fragment"},
		"https://a:":                  {10, "not a port"},
		"https://a:0":                 {10, "not a port"},
		"https://a:00443":             {10, "not a port"},
		"https://a:65536":             {10, "not a port"},
		"https://a:-1":                {10, "not a port"},
		"https://a:+1":                {10, "not a port"},
		"https://::1/":                {8, "needs brackets"},
		"https://[::1":                {8, "not IPv6"},
		"https://[::1]x":              {8, "not IPv6"},
		"https://[a]":                 {8, "not IPv6"},
		"https://[1.2.3.4]":           {8, "not IPv6"},
		"https://[fe80::1%25eth0]":    {8, "zone"},
		"https://[fe80::1%eth0]":      {8, "zone"},
		"https://127.1":               {8, "ends in a number"},
		"https://2130706433":          {8, "ends in a number"},
		"https://0x7f.0x0.0x0.0x1":    {8, "ends in a number"},
		"https://127.0.0.01":          {8, "ends in a number"},
		"https://example.org.":        {8, "empty label"},
		"https://.example.org":        {8, "empty label"},
		"https://a..b":                {8, "empty label"},
		"https://-a.b":                {8, "hyphen"},
		"https://a!b":                 {8, "a character"},
		"https://bücher.example":      {8, "not ASCII"},
		"https://\u212aelvin.example": {8, "not ASCII"}, // its lower case is an ASCII k
		"https://a%2eb":               {8, "a character"},
		"https://*x.org":              {8, "whole first label"},
		"https://x*.org":              {9, "whole first label"},
		"https://a.*.org":             {10, "whole first label"},
		"https://*.*.org":             {10, "whole first label"},
		"https://**":                  {8, "whole first label"},
		"https://*.":                  {8, "no host"},
		"https://*.127.0.0.1":         {8, "no labels"},
		"http://*":                    {8, "every public host"},
		"https://*:8443":              {14, "every public host"},
		"https://*/x":                 {9, "every public host"},
		"https://a/../b":              {10, "servers read differently"},
		"https://a/x/%2e%2e":          {12, "servers read differently"},
		"https://a/x/%252e.":          {12, "servers read differently"},
		"https://a/..;x/":             {10, "servers read differently"},
		"https://a/x%2fy":             {10, "servers read differently"},
		"https://a/x%5cy":             {10, "servers read differently"},
		"https://a/x%255cy":           {10, "servers read differently"},
		"https://a/x\\y":              {11, "backslash"},
		"https://a/x\ny":              {11, "control"},
		"https://a/x%00":              {10, "servers read differently"},
		"https://a/%zz":               {10, "wrong escape"},
		"https://a//b":                {10, "empty segment"},
		"https://a/b/*":               {12, "no meaning"},
	} {
		_, err := Parse(text)
		var f *Fault
		if !errors.As(err, &f) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if f.At != want.at || !strings.Contains(f.Problem, want.problem) || f.Hint == "" || f.Text != text {
			t.Errorf("%q: at %d: %s (%s); want at %d: %s", text, f.At, f.Problem, f.Hint, want.at, want.problem)
		}
	}
	if _, err := Parse("https://a/" + strings.Repeat("x", MaxGrant)); err == nil || len(err.Error()) > 300 {
		t.Errorf("a long grant: %v", err)
	}
}

func grantsOf(t *testing.T, texts ...string) []Grant {
	t.Helper()
	var out []Grant
	for _, text := range texts {
		g, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

// allowed reports whether one of the grants includes the request.
func allowed(grants []Grant, method string, u *url.URL) bool {
	t, err := targetOf(method, u)
	return err == nil && slices.ContainsFunc(grants, func(g Grant) bool { return g.allows(t) })
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		grant, request string
		want           bool
	}{
		{"https://a.org", "GET https://a.org/x", true},
		{"https://a.org", "POST https://A.ORG:443", true},
		{"https://a.org", "GET http://a.org/", false},
		{"https://a.org", "GET https://a.org:8443/", false},
		{"https://a.org", "GET https://b.a.org/", false},
		{"https://a.org", "GET https://a.org./", false},
		{"https://a.org", "GET https://a.org@b.org/", false},
		{"https://a.org", "GET https://u@a.org/", false},
		{"https://a.org", "TRACE https://a.org/", false},
		{"https://a.org", "CONNECT https://a.org/", false},
		{"https://a.org", "PROPFIND https://a.org/", false},
		{"https://a.org", "get https://a.org/", false},
		{"https://a.org", "GET https://a.org/x%2fy?z=%2f..#f", true}, // no path is granted, so none is compared
		{"https://a.org", "GET https://a.org/?a b", false},
		{"https://a.org", "GET https://a.org/?ü", false},
		{"GET https://a.org", "GET https://a.org/", true},
		{"GET https://a.org", "HEAD https://a.org/", false},
		{"https://*.a.org", "GET https://x.a.org/", true},
		{"https://*.a.org", "GET https://x.y.a.org/", false},
		{"https://*.a.org", "GET https://a.org/", false},
		{"https://*.a.org", "GET https://xa.org/", false},
		{"https://*.a.org", "GET https://.a.org/", false},
		{"https://*", "GET https://a.org/", true},
		{"https://*", "GET https://a.org:8443/", false},
		{"https://*", "GET http://a.org/", false},
		{"https://*", "GET https://9.9.9.9/", true},
		{"https://*", "GET https://localhost/", false},
		{"https://*", "GET https://127.0.0.1/", false},
		{"https://*", "GET https://[::ffff:10.1.1.1]/", false},
		{"https://*", "GET https://127.1/", false},
		{"https://*", "GET https://0x7f000001/", false},
		{"http://127.0.0.1:80", "GET http://[::ffff:127.0.0.1]/", true},
		{"http://127.0.0.1", "GET http://127.0.0.2/", false},
		{"http://[::1]", "GET http://[0:0:0:0:0:0:0:1]/", true},
		{"http://[fe80::1]", "GET http://[fe80::1%25eth0]/", false},
		{"https://a/v1", "GET https://a/v1", true},
		{"https://a/v1/", "GET https://a/v1", true},
		{"https://a/v1", "GET https://a/v1/x?y=/..", true},
		{"https://a/v1", "GET https://a/%76%31/x", true},
		{"https://a/v1", "GET https://a/v10", false},
		{"https://a/v1", "GET https://a/", false},
		{"https://a/v1", "GET https://a//v1", false},
		{"https://a/v1", "GET https://a/v1/../x", false},
		{"https://a/v1", "GET https://a/v1/%2e%2E/x", false},
		{"https://a/v1", "GET https://a/v1/%252e%252e/x", false},
		{"https://a/v1", "GET https://a/v1/..;/x", false},
		{"https://a/v1", "GET https://a/v1/..%2fx", false},
		{"https://a/v1", "GET https://a/v1%2f..%2fx", false},
		{"https://a/v1", "GET https://a/v1/..%5cx", false},
		{"https://a/v1", "GET https://a/v1/x%00", false},
		{"https://a/v1", "GET https://a/v1/a%20b;c", true},
		{"https://a/v1", "GET https://a/v1/100%25", true},
	} {
		method, text, _ := strings.Cut(tt.request, " ")
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := allowed(grantsOf(t, tt.grant), method, u); got != tt.want {
			t.Errorf("%s allows %s: %v", tt.grant, tt.request, got)
		}
	}
	if allowed(nil, "GET", &url.URL{Scheme: "https", Host: "a"}) {
		t.Error("nothing allows something")
	}
	if allowed(grantsOf(t, "https://a"), "GET", &url.URL{Scheme: "https", Host: "a", Opaque: "//b/"}) {
		t.Error("an opaque URL is allowed")
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		grant, limits string
		want          bool
	}{
		{"https://a.org", "https://a.org", true},
		{"https://a.org", "", false},
		{"https://a.org", "http://b.org,https://a.org", true},
		{"https://a.org/x", "https://a.org", true},
		{"https://a.org", "https://a.org/x", false},
		{"https://a.org/xy", "https://a.org/x", false},
		{"GET https://a.org", "https://a.org", true},
		{"https://a.org", "GET https://a.org", false},
		{"http://a.org", "https://a.org", false},
		{"https://a.org:1", "https://a.org", false},
		{"https://x.a.org", "https://*.a.org", true},
		{"https://*.a.org", "https://*.a.org", true},
		{"https://*.a.org", "https://x.a.org", false},
		{"https://*.x.a.org", "https://*.a.org", false},
		{"https://*.a.org", "https://*", true},
		{"https://a.org/b", "https://*", true},
		{"https://*", "https://*", true},
		{"https://*", "https://*.org", false},
		{"https://localhost", "https://*", false},
		{"https://10.0.0.1", "https://*", false},
		{"https://9.9.9.9", "https://*", true},
		{"https://10.0.0.1", "https://10.0.0.1", true},
	} {
		var limits []Grant
		if tt.limits != "" {
			limits = grantsOf(t, strings.Split(tt.limits, ",")...)
		}
		if got := grantsOf(t, tt.grant)[0].Within(limits); got != tt.want {
			t.Errorf("%s within %q: %v", tt.grant, tt.limits, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://*", "GET https://*.a.org:8443/x/%41", "http://[::ffff:1.2.3.4]:1", "http://a/..", "POST http://a_b/ü%20;x", "https://a%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := Parse(s)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) || fault.At < 0 || fault.At > len(s) || fault.Problem == "" || fault.Hint == "" {
				t.Fatalf("%q: %#v", s, err)
			}
			return
		}
		again, err := Parse(g.String())
		if err != nil || again.String() != g.String() {
			t.Fatalf("%q: %s, then %s, %v", s, g, again, err)
		}
		if !g.Within([]Grant{again}) {
			t.Fatalf("%s is not within itself", g)
		}
	})
}

// An allowed request is also allowed by a plain reading of the URL, and a larger grant
// allows everything that a smaller one does.
func FuzzAllows(f *testing.F) {
	for _, s := range []string{
		"https://a.org/v1/x", "https://a.org/v1/%2e%2e/x", "https://x.a.org/", "https://127.0.0.1/", "http://127.0.0.1:80/v1/..;/",
		"https://a.org\\@b/", "https://a.org:443/v1//%252e%252e", "https://A.org/v1?x", "https://[::ffff:7f00:1]/v1/",
	} {
		f.Add(s)
	}
	small, err := Parse("https://a.org/v1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			return
		}
		large := grantsOf(t, "https://*")
		public := allowed(large, "GET", u)
		if public && (!strings.EqualFold(u.Scheme, "https") || u.Port() != "" && u.Port() != "443" || u.Hostname() == "127.0.0.1") {
			t.Fatalf("%q is allowed as public", s)
		}
		if !allowed([]Grant{small}, "GET", u) {
			return
		}
		if !public {
			t.Fatalf("%q is allowed by the smaller grant alone", s)
		}
		if !strings.EqualFold(u.Hostname(), "a.org") {
			t.Fatalf("%q goes to %s", s, u.Hostname())
		}
		p := u.EscapedPath()
		for range 5 {
			if !strings.HasPrefix(path.Clean(strings.ReplaceAll(p, `\`, "/"))+"/", "/v1/") {
				t.Fatalf("%q is read as %q", s, p)
			}
			next, err := url.PathUnescape(p)
			if err != nil {
				break
			}
			p = next
		}
	})
}

func TestMethodsAreClosed(t *testing.T) {
	t.Parallel()
	for _, m := range []string{"CONNECT", "TRACE", "", "GET "} {
		if slices.Contains(methods(), m) {
			t.Errorf("%q can be granted", m)
		}
	}
}
