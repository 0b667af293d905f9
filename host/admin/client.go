package admin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// maxAnswer is the limit of a server's answer, in bytes. It has room for a list of
// many thousand jobs, and for a dump.
const maxAnswer = 64 << 20

// Client sends requests to a running server. It has the methods and errors of
// operator.Operator. Create it with Dial or At.
type Client struct {
	transport transport
	path      string // of the socket, or the address
	base      string // the beginning of the URLs of requests
	token     string // "": none
	most      int64  // limit of bytes in an answer; 0: maxAnswer
}

// transport is what a Client needs of an http.Transport.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// Dial finds the server with a data directory. If none runs, the error is
// ErrNoServer.
func Dial(ctx context.Context, dataDir string) (*Client, error) {
	path, err := find(dataDir)
	if err != nil {
		return nil, err
	}
	first, err := connect(ctx, path)
	if err != nil {
		return nil, err
	}
	_ = first.Close() // nothing was sent on it
	return &Client{path: path, base: "http://wasmjobd", transport: &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return connect(ctx, path) },
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  headTimeout,
		DisableCompression:     true, // a small answer could become a large one
		MaxIdleConnsPerHost:    maxRequests,
		IdleConnTimeout:        idleTimeout,
	}}, nil
}

// Close ends the connections.
func (c *Client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// ask sends a request and returns a successful answer, which the caller closes.
// body is nil if the request has none.
func (c *Client) ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
	if body == nil {
		return c.send(ctx, method, path, "", http.NoBody)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	return c.send(ctx, method, path, jsonType, bytes.NewReader(text))
}

// send is ask with a body that is encoded already.
func (c *Client) send(ctx context.Context, method, path, mediaType string, body io.Reader) (*http.Response, error) {
	r, err := c.newRequest(ctx, method, path, mediaType, body)
	if err != nil {
		return nil, err
	}
	return c.do(r)
}

// newRequest makes a request to the server. An empty media type stands for no body.
func (c *Client) newRequest(ctx context.Context, method, path, mediaType string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("User-Agent", "wasmjobd")
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	return r, nil
}

// do sends a request and returns a successful answer, which the caller closes.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.transport.RoundTrip(r) // an http.Client would follow redirects
	if err != nil {
		return nil, lost(r.Method, c.path, err)
	}
	if answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, refused(answer)
}

// lost is the error of a request to the server at path that has no complete answer. Unless it only reads, or was
// not sent, its outcome is unknown.
func lost(method, path string, err error) error {
	code := host.Unavailable
	dial, isDial := errors.AsType[*net.OpError](err)
	if method != http.MethodGet && !errors.Is(err, ErrNoServer) && (!isDial || dial.Op != "dial") {
		code = host.Unknown // the server may have carried it out
	}
	return &host.Error{Code: code, Msg: "ask the server at " + path + hint(path, err), Err: err}
}

// hint returns what to do about an error of a connection to the server at path, or "".
func hint(path string, err error) string {
	if _, plainly := errors.AsType[tls.RecordHeaderError](err); plainly {
		return ": it does not speak TLS; write http:// if the server has no certificate"
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return ": this machine does not trust the authority of its certificate; name a file with the authority as ca in a context"
	}
	if strings.HasPrefix(path, "http://") && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return ": it closes the connection; write https:// if the server has a certificate"
	}
	return ""
}

// codesOf maps codes that only the API has to codes of the host.
var codesOf = map[string]host.Code{codeBusy: host.Unavailable, codeOutdated: host.Refused, codeTimeout: host.Unavailable, codeTooMany: host.Unavailable, codeUnauthenticated: host.Denied}

// refused returns the error in a server's answer.
func refused(answer *http.Response) error {
	var p problem
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	mediaType, _, typeErr := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || typeErr != nil || mediaType != problemType || json.Unmarshal(text, &p) != nil {
		return &host.Error{Code: host.Internal, Msg: fmt.Sprintf("the server answers %d without a reason", answer.StatusCode)}
	}
	if _, ok := statuses[host.Code(p.Code)]; ok { // the code of an Operator's error
		e := &host.Error{Code: host.Code(p.Code), Msg: p.Detail}
		if len(p.Errors) == 1 && e.Code == host.Refused {
			e.Unless = strings.TrimPrefix(p.Errors[0].Pointer, "/") // the parameter that overrides the refusal
		}
		return e
	}
	if p.Code == codeNoRoute || p.Code == codeMethod || p.Code == codeBadRequest {
		p.Detail += "; is the server of another release? Restart it with this one"
	}
	return &host.Error{Code: cmp.Or(codesOf[p.Code], host.Internal), Msg: p.Detail}
}

// askOnly sends a request whose answer has no content.
func (c *Client) askOnly(ctx context.Context, method, path string, body any) error {
	answer, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	return nil
}

// read sends a request and decodes the document in the answer.
func (c *Client) read(ctx context.Context, method, path string, body, to any) error {
	answer, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return c.decode(answer.Body, method, to)
}

// errLargeAnswer is the error of an answer that has more bytes than the client takes.
var errLargeAnswer = errors.New("it is too large")

// decode reads the document of an answer.
func (c *Client) decode(body io.Reader, method string, to any) error {
	within := &io.LimitedReader{R: body, N: cmp.Or(c.most, maxAnswer)}
	err := json.NewDecoder(within).Decode(to)
	if err != nil && within.N <= 0 {
		err = errLargeAnswer
	}
	if err != nil {
		return lost(method, c.path, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// Jobs is operator.Operator.Jobs.
func (c *Client) Jobs(ctx context.Context) ([]operator.JobReport, error) {
	var jobs []operator.JobReport
	for cursor := ""; ; {
		var page jobsDocument
		query := url.Values{"limit": {strconv.Itoa(maxPage)}, "cursor": {cursor}}
		if err := c.read(ctx, http.MethodGet, jobsPath+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for i := range page.Jobs {
			jobs = append(jobs, *page.Jobs[i].report())
		}
		switch {
		case page.Next == "":
			return jobs, nil
		case page.Next <= cursor: // the same pages would come again
			return nil, &host.Error{Code: host.Internal, Msg: fmt.Sprintf("the server's list of jobs does not advance beyond %.256q", cursor)}
		}
		cursor = page.Next
	}
}

// Names is operator.Operator.Names.
func (c *Client) Names(ctx context.Context) ([]string, error) {
	jobs, err := c.Jobs(ctx)
	names := make([]string, 0, len(jobs))
	for i := range jobs {
		names = append(names, jobs[i].Name)
	}
	slices.Sort(names)
	return names, err
}

// Job is operator.Operator.Job.
func (c *Client) Job(ctx context.Context, name string) (*operator.JobReport, error) {
	var d shownDocument
	if err := c.readJob(ctx, http.MethodGet, name, "", nil, &d); err != nil {
		return nil, err
	}
	return d.report(), nil
}

// Trigger is operator.Operator.Trigger.
func (c *Client) Trigger(ctx context.Context, name string) error {
	return c.post(ctx, name, "/runs", nil)
}

// Resume is operator.Operator.Resume.
func (c *Client) Resume(ctx context.Context, name string) error {
	return c.post(ctx, name, ":resume", nil)
}

// Reshard is operator.Operator.Reshard.
func (c *Client) Reshard(ctx context.Context, name string) error {
	return c.post(ctx, name, ":reshard", nil)
}

// readJob is read for the path of a job and what follows it.
func (c *Client) readJob(ctx context.Context, method, name, what string, body, to any) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	return c.read(ctx, method, jobPath(name)+what, body, to)
}

// post sends a request about a job whose answer has no content.
func (c *Client) post(ctx context.Context, name, what string, body any) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	return c.askOnly(ctx, http.MethodPost, jobPath(name)+what, body)
}
