package admin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/wasmjob/wasmjob/host"
)

// Every request is either carried out or answered with a problem, and never causes an
// internal error.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /api/v1/jobs/report/dump HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /api/v1/jobs/report/runs HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /api/v1/jobs/report:disable HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{\"server\":\"10.0.0.9\"}",
		"POST /api/v1/jobs/report/shards/0:enable HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /api/v1/jobs/%2e%2e:pause HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /api/v1/jobs/report:set-module HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"digest\":\"x\"}",
		"PUT /api/v1/modules/../x HTTP/1.1\r\nHost: x\r\nContent-Type: application/wasm\r\nContent-Length: 1\r\n\r\nx",
		"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"DELETE //api/v1/jobs/report?x HTTP/1.0\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	s := start(f, "report")
	h := NewHandler(Options{Operate: s.operate, Receive: func(r io.Reader) (*host.ReceivedModule, error) { return host.ReceiveModule(s.data, r, nil) }})
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return // net/http answers
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(t.Context()))
		checkAnswer(t, r.Method, r.URL.EscapedPath(), w)
		switch {
		case w.Code >= http.StatusInternalServerError:
			t.Errorf("%q is answered %d %s", text, w.Code, w.Body)
		case w.Code >= http.StatusBadRequest:
			problemIn(t, w)
		case w.Code >= http.StatusMultipleChoices:
			t.Errorf("%q is sent elsewhere: %d %v", text, w.Code, w.Header())
		case w.Header().Get("Content-Type") == jsonType && !json.Valid(w.Body.Bytes()):
			t.Errorf("%q is answered by %s", text, w.Body)
		}
	})
}
