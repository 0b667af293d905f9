package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

func TestDoFollowsWhatIsGranted(t *testing.T) {
	t.Parallel()
	target := serve(t, echo)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusFound
		if c, err := fmt.Sscanf(r.URL.Query().Get("code"), "%d", &code); c != 1 || err != nil {
			code = http.StatusFound
		}
		to := r.URL.Query().Get("to")
		if r.URL.Path == "/end" {
			echo(w, r)
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	})
	c := client(t, Options{}, s.URL, target.URL+"/open", "GET "+target.URL+"/read")
	headers := []job.HTTPField{
		{Name: "Authorization", Value: "me"}, {Name: "X-Test", Value: "t"}, {Name: "Content-Type", Value: "c"}, {Name: "Accept", Value: "secret"},
	}
	send := func(method, to string, code int) (int, string, error) {
		u := fmt.Sprintf("%s/?code=%d&to=%s", s.URL, code, strings.ReplaceAll(to, "&", "%26"))
		return do(t, c, job.HTTPRequest{Method: method, URL: u, Header: headers, Body: []byte("b"), Private: []string{"Accept"}})
	}
	own, there := strings.TrimPrefix(s.URL, "http://"), strings.TrimPrefix(target.URL, "http://")
	for _, tt := range []struct {
		method, to string
		code       int
		want       string
	}{
		{"POST", "/end", 302, "GET " + own + " /end||me"},
		{"POST", "/end", 303, "GET " + own + " /end||me"},
		{"PUT", "/end", 301, "GET " + own + " /end||me"},
		{"POST", "/end", 307, "POST " + own + " /end|b|me"},
		{"DELETE", "/end", 308, "DELETE " + own + " /end|b|me"},
		{"POST", target.URL + "/open/x", 307, "POST " + there + " /open/x|b|"},
		{"POST", target.URL + "/read", 302, "GET " + there + " /read||"},
	} {
		if _, got, err := send(tt.method, tt.to, tt.code); err != nil || got != tt.want {
			t.Errorf("%s %d %s: %q, %v; want %q", tt.method, tt.code, tt.to, got, err, tt.want)
		}
	}
	for _, to := range []string{
		target.URL + "/closed", target.URL + "/open/..%252fclosed", "http://u@" + there + "/open", "ftp://" + there + "/open", "//localhost/open",
		"https://" + there + "/open", "http://[::1/",
	} {
		if _, got, err := send("GET", to, 302); !errors.Is(err, job.ErrDenied) {
			t.Errorf("%s: %q, %v", to, got, err)
		}
	}
	if _, got, err := send("POST", target.URL+"/read", 307); !errors.Is(err, job.ErrDenied) {
		t.Errorf("the method of a redirect: %q, %v", got, err)
	}
	if code, _, err := send("GET", "", 302); code != 302 || err != nil {
		t.Errorf("without a location: %d, %v", code, err)
	}
	if code, _, err := send("GET", "/end", 304); code != 304 || err != nil {
		t.Errorf("not modified: %d, %v", code, err)
	}
}

// Only the listed fields reach another host.
func TestStripHeaders(t *testing.T) {
	t.Parallel()
	full := http.Header{"Authorization": {"a"}, "Cookie": {"c"}, "X-Api-Key": {"k"}, "Accept": {"s"}, "Content-Type": {"t"}, "User-Agent": {"u"}}
	for _, tt := range []struct {
		same, body bool
		want       string
	}{
		{true, true, "Accept Authorization Content-Type Cookie User-Agent X-Api-Key"},
		{true, false, "Accept Authorization Cookie User-Agent X-Api-Key"},
		{false, true, "Content-Type User-Agent"},
		{false, false, "User-Agent"},
	} {
		h := full.Clone()
		stripHeaders(h, tt.same, tt.body, []string{"accept"})
		var got []string
		for _, f := range headerFields(h) {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("same origin %v, body %v: %s", tt.same, tt.body, got)
		}
	}
}

func TestDoCountsRedirects(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/xxxx" {
			return
		}
		http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
	})
	c := client(t, Options{}, s.URL)
	resp, err := c.Do(t.Context(), get(s.URL+"/"))
	if err != nil || resp.Calls != 5 {
		t.Fatalf("%+v, %v", resp, err)
	}
	resp.Body.Close()
	r := get(s.URL + "/")
	left, errEnough := 4, errors.New("enough")
	r.Redirect = func() error {
		if left--; left < 0 {
			return errEnough
		}
		return nil
	}
	if resp, err = c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	left = 3
	if _, err = c.Do(t.Context(), r); !errors.Is(err, errEnough) {
		t.Errorf("one redirect too many: %v", err)
	}
	if _, err = c.Do(t.Context(), get(s.URL+"/xxxxx")); err == nil || !strings.Contains(err.Error(), "too many redirects") {
		t.Errorf("without an end: %v", err)
	}
}
