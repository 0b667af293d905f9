package wasmjob

import (
	"bytes"
	"io"
	"sort"
	"strings"
)

// Request is a request for Context.HTTP. In the value of a header {{secret:name}} stands
// for a granted secret, which the module never sees.
type Request struct {
	Method string // GET if empty
	URL    string
	Header map[string]string
	Body   io.Reader // nil if there is none
}

// Response is the response to a Request, and the reader of its body. The host closes open
// responses when the run ends.
type Response struct {
	Status int

	h      host
	handle int32
	closed bool
}

var _ io.ReadCloser = (*Response)(nil)

// HTTP sends a request, which the job must be granted, and waits for the head of the
// response. A response with any status, even 404, is no error. It fails with ErrDenied,
// ErrInvalid, ErrLimit, ErrTimeout, ErrCancelled or ErrIO.
func (c Context) HTTP(r Request) (*Response, error) {
	text, err := r.text()
	if err != nil {
		return nil, err
	}
	what := []string{"send", r.method(), r.URL}
	handle := c.h.httpRequest(text)
	if err := check(handle, what...); err != nil {
		return nil, err
	}
	status := c.h.httpStatus(handle)
	if err := check(status, what...); err != nil {
		return nil, err
	}
	return &Response{Status: int(status), h: c.h, handle: handle}, nil
}

// method returns the method of the request, GET if it names none.
func (r Request) method() string {
	if r.Method == "" {
		return "GET"
	}
	return r.Method
}

// text encodes the request for the host. A line break in the head would add another
// header, so it is refused here.
func (r Request) text() ([]byte, error) {
	what := "send " + r.method() + " " + r.URL
	if strings.ContainsAny(r.method()+r.URL, " \r\n") || r.URL == "" {
		return nil, &attempt{what, ErrInvalid}
	}
	var b bytes.Buffer
	b.WriteString(r.method() + " " + r.URL + "\n")
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, ": \r\n") || strings.ContainsAny(r.Header[name], "\r\n") {
			return nil, &attempt{what + ": header " + name, ErrInvalid}
		}
		b.WriteString(name + ": " + r.Header[name] + "\n")
	}
	b.WriteString("\n")
	if r.Body != nil {
		if _, err := io.Copy(&b, r.Body); err != nil {
			return nil, &attempt{what + ": read the body", err}
		}
	}
	return b.Bytes(), nil
}

// Header returns a header of the response, several of one name joined by ", "; false if
// there is none.
func (r *Response) Header(name string) (string, bool) {
	b, n := read(func(buf []byte) int32 { return r.h.httpHeader(r.handle, name, buf) })
	return string(b), n >= 0
}

// Read reads the body. It fails with ErrLimit if the body is larger than the host allows.
func (r *Response) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := r.h.httpRead(r.handle, p)
	if n == 0 {
		return 0, io.EOF
	}
	return int(max(0, n)), check(n, "read the answer")
}

// Close closes the response. Further calls do nothing.
func (r *Response) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return check(r.h.httpClose(r.handle), "close the answer")
}

// Bytes reads the rest of the body and closes the response.
func (r *Response) Bytes() ([]byte, error) {
	b, err := io.ReadAll(r)
	if later := r.Close(); err == nil {
		err = later
	}
	return b, err
}
