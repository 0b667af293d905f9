package wasmjob

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHTTP(t *testing.T) {
	t.Parallel()
	f := &Fake{HTTP: func(r Request) (FakeAnswer, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return FakeAnswer{}, err
		}
		return FakeAnswer{Status: 201, Header: map[string]string{"X-Echo": r.Header["X-Test"]}, Body: r.Method + " " + r.URL + " " + string(body)}, nil
	}}
	r, err := f.Context().HTTP(Request{
		Method: "POST", URL: "https://example.org/", Header: map[string]string{"X-Test": "yes", "A": "{{secret:a}}"}, Body: strings.NewReader("p\n\nq"),
	})
	if err != nil {
		t.Fatal(err)
	}
	echo, ok := r.Header("x-echo")
	if _, other := r.Header("Other"); echo != "yes" || !ok || other {
		t.Errorf("header %q, %v, %v", echo, ok, other)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("read nothing: %d, %v", n, err)
	}
	if body, err := r.Bytes(); string(body) != "POST https://example.org/ p\n\nq" || err != nil || r.Status != 201 {
		t.Errorf("%d %q, %v", r.Status, body, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("read after close: %v", err)
	}
	if r, err := f.Context().HTTP(Request{URL: "https://example.org/a"}); err != nil || iotest.TestReader(r, []byte("GET https://example.org/a ")) != nil {
		t.Errorf("a GET: %v", err)
	}
}

func TestHTTPFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fake error
		r    Request
		want error
	}{
		"no URL":            {nil, Request{}, ErrInvalid},
		"a space":           {nil, Request{URL: "https://a/ b"}, ErrInvalid},
		"another line":      {nil, Request{URL: "https://a/\nX: y"}, ErrInvalid},
		"in the method":     {nil, Request{Method: "GET /", URL: "https://a/"}, ErrInvalid},
		"in a header":       {nil, Request{URL: "https://a/", Header: map[string]string{"A": "b\r\nC: d"}}, ErrInvalid},
		"in a header name":  {nil, Request{URL: "https://a/", Header: map[string]string{"A: b\nC": "d"}}, ErrInvalid},
		"no header name":    {nil, Request{URL: "https://a/", Header: map[string]string{"": "d"}}, ErrInvalid},
		"the body":          {nil, Request{URL: "https://a/", Body: iotest.ErrReader(io.ErrUnexpectedEOF)}, io.ErrUnexpectedEOF},
		"the host refuses":  {ErrTimeout, Request{URL: "https://a/"}, ErrTimeout},
		"the network fails": {errors.New("no route"), Request{URL: "https://a/"}, ErrIO},
	} {
		f := &Fake{HTTP: func(Request) (FakeAnswer, error) { return FakeAnswer{}, tt.fake }}
		if _, err := f.Context().HTTP(tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&Fake{}).Context().HTTP(Request{URL: "https://a/"}); !errors.Is(err, ErrDenied) || err.Error() != "send GET https://a/: not granted" {
		t.Errorf("not granted: %v", err)
	}
}
