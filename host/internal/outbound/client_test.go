package outbound

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names returns a resolver that knows a few names.
func names(t *testing.T, known map[string]string) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answerNames(theirs, known) // ends when the resolver closes its end
		return ours, nil
	}}
}

// answerNames answers one DNS question over a stream.
func answerNames(conn net.Conn, known map[string]string) {
	defer conn.Close()
	for {
		var size uint16
		if binary.Read(conn, binary.BigEndian, &size) != nil {
			return
		}
		q := make([]byte, size)
		if _, err := io.ReadFull(conn, q); err != nil {
			return
		}
		at, labels := 12, []string{}
		for q[at] != 0 {
			labels = append(labels, string(q[at+1:at+1+int(q[at])]))
			at += 1 + int(q[at])
		}
		kind := binary.BigEndian.Uint16(q[at+1:])
		r := append([]byte{}, q[:at+5]...)
		r[2], r[3] = 0x81, 0x80
		clear(r[6:12])
		if ip, ok := known[strings.Join(labels, ".")]; ok {
			raw := netip.MustParseAddr(ip).AsSlice()
			if kind == 1 && len(raw) == 4 || kind == 28 && len(raw) == 16 {
				r[7] = 1
				r = append(r, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
				r = append(r, raw...)
			}
		} else {
			r[3] |= 3 // no such name
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(r))), r...)); err != nil {
			return
		}
	}
}

func client(t *testing.T, o Options, grants ...string) *Client {
	t.Helper()
	c, err := New(grants, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// echo returns the request.
func echo(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Echo", r.Header.Get("X-Test"))
	fmt.Fprintf(w, "%s %s %s|%s|%s", r.Method, r.Host, r.URL.RequestURI(), b, r.Header.Get("Authorization"))
}

func do(t *testing.T, c *Client, r job.HTTPRequest) (int, string, error) {
	t.Helper()
	resp, err := c.Do(t.Context(), r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.Status, string(b), err
}

func get(u string) job.HTTPRequest { return job.HTTPRequest{Method: "GET", URL: u} }

func TestDo(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	host := strings.TrimPrefix(s.URL, "http://")
	c := client(t, Options{}, s.URL+"/a")
	resp, err := c.Do(t.Context(), job.HTTPRequest{
		Method: "POST", URL: s.URL + "/a/b?q=1#f", Body: []byte("body"),
		Header: []job.HTTPField{{Name: "x-test", Value: "1"}, {Name: "X-Test", Value: "2"}, {Name: "Authorization", Value: "me"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if want := "POST " + host + " /a/b?q=1|body|me"; err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
	if resp.Status != 200 || resp.Calls != 1 || !slices.Contains(resp.Header, job.HTTPField{Name: "X-Echo", Value: "1"}) {
		t.Errorf("%+v", resp)
	}
	for _, r := range []job.HTTPRequest{
		get(s.URL + "/b"), get("http://localhost:" + host[strings.LastIndex(host, ":")+1:] + "/a"), get("http://%zz/"), get("nonsense"),
		{Method: "GE T", URL: s.URL + "/a"}, {Method: "CONNECT", URL: s.URL + "/a"}, {Method: "TRACE", URL: s.URL + "/a"},
	} {
		if _, _, err := do(t, c, r); !errors.Is(err, job.ErrDenied) {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
	}
}

func TestDoRefusesHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	c := client(t, Options{}, s.URL)
	for _, f := range []job.HTTPField{
		{Name: "Host", Value: "other"},
		{Name: "connection", Value: "close, x-test"},
		{Name: "Transfer-Encoding", Value: "chunked"},
		{Name: "Content-Length", Value: "0"},
		{Name: "Upgrade", Value: "h2c"},
		{Name: "HTTP2-Settings", Value: "x"},
		{Name: "TE", Value: "trailers"},
		{Name: "Trailer", Value: "X"},
		{Name: "Proxy-Connection", Value: "x"},
		{Name: "Proxy-Authorization", Value: "x"},
		{Name: "Keep-Alive", Value: "x"},
		{Name: "Expect", Value: "100-continue"},
		{Name: "X", Value: "a\r\nHost: other"},
		{Name: "X", Value: "a\nY: b"},
		{Name: "X", Value: "a\rY: b"},
		{Name: "X", Value: "a\x00"},
		{Name: "X\r\nY", Value: "a"},
		{Name: "X:", Value: "a"},
		{Name: " X", Value: "a"},
		{Name: "", Value: "a"},
		{Name: "Ä", Value: "a"},
	} {
		if _, _, err := do(t, c, job.HTTPRequest{Method: "GET", URL: s.URL, Header: []job.HTTPField{f}}); !errors.Is(err, job.ErrDenied) {
			t.Errorf("%q: %v", f, err)
		}
	}
	if _, _, err := do(t, c, get(s.URL+"/?a b HTTP/1.1")); !errors.Is(err, job.ErrDenied) {
		t.Errorf("a space in the query: %v", err)
	}
}

// A name that resolves to a loopback address is not reached, whichever resolver says so,
// and whenever.
func TestDoLooksAtAddresses(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	r := names(t, map[string]string{
		"inside.example.test": "127.0.0.1", "six.example.test": "::1", "mapped.example.test": "::ffff:127.0.0.1", "cloud.example.test": "169.254.169.254",
	})
	c := client(t, Options{Resolver: r}, "http://*.example.test"+port, "https://*", "http://localhost"+port)
	for _, host := range []string{"inside.example.test", "six.example.test", "mapped.example.test", "cloud.example.test"} {
		if _, got, err := do(t, c, get("http://"+host+port+"/")); !errors.Is(err, job.ErrDenied) {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
	if _, _, err := do(t, c, get("http://none.example.test"+port+"/")); err == nil || errors.Is(err, job.ErrDenied) {
		t.Errorf("a name that is not there: %v", err)
	}
	if _, got, err := do(t, c, get("http://LOCALHOST"+port+"/x")); err != nil || got != "GET localhost"+port+" /x||" {
		t.Errorf("localhost: %q, %v", got, err)
	}
	listed := client(t, Options{Resolver: r, AllowPrivate: []string{"inside.example.test"}}, "http://*.example.test"+port)
	if _, got, err := do(t, listed, get("http://inside.example.test"+port+"/x")); err != nil || got != "GET inside.example.test"+port+" /x||" {
		t.Errorf("listed: %q, %v", got, err)
	}
	away := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://inside.example.test"+port+"/", http.StatusFound)
	})
	c = client(t, Options{Resolver: r}, "http://*.example.test"+port, away.URL)
	if _, got, err := do(t, c, get(away.URL)); !errors.Is(err, job.ErrDenied) {
		t.Errorf("a redirect to the loopback by name: %q, %v", got, err)
	}
}

func TestDoVerifiesServers(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	o := Options{Roots: roots, AllowPrivate: []string{"example.com", "other.test"}, Resolver: names(t, map[string]string{"example.com": "127.0.0.1", "other.test": "127.0.0.1"})}
	grants := []string{"https://example.com" + port, "https://other.test" + port}
	c := client(t, o, grants...)
	if _, got, err := do(t, c, get("https://example.com"+port)); err != nil || got != "HTTP/2.0" {
		t.Errorf("%q, %v", got, err)
	}
	if _, got, err := do(t, c, get("https://other.test"+port)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the name of another: %q, %v", got, err)
	}
	o.Roots = x509.NewCertPool()
	if _, got, err := do(t, client(t, o, grants...), get("https://example.com"+port)); err == nil {
		t.Errorf("an unknown root: %q", got)
	}
}

func TestDoBoundsHeads(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
	})
	if _, _, err := do(t, client(t, Options{}, s.URL), get(s.URL)); err == nil || errors.Is(err, job.ErrDenied) {
		t.Errorf("a large head: %v", err)
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	c := client(t, Options{}, s.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := c.Do(ctx, get(s.URL+"/head")); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the head: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	resp, err := c.Do(ctx, get(s.URL+"/body"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	go func() { <-arrived; cancel() }()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for the body: %v", err)
	}
}

// No environment variable redirects requests, and nothing decompresses responses.
func TestDoIsPlain(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		fmt.Fprint(w, r.Header.Get("Accept-Encoding")+r.Header.Get("Cookie")+r.Header.Get("User-Agent"))
	})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	c := client(t, Options{}, s.URL)
	for range 2 {
		if _, got, err := do(t, c, get(s.URL)); err != nil || got != userAgent {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// The data after the response is not HTTP any more, and reading it would outlast the run.
func TestProtocolIsNotChanged(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "upgrade")
		w.Header().Set("Upgrade", "chat")
		w.WriteHeader(http.StatusSwitchingProtocols)
	})
	if _, _, err := do(t, client(t, Options{}, s.URL), get(s.URL)); err == nil || !strings.Contains(err.Error(), "switched protocols") {
		t.Errorf("error %v", err)
	}
}
