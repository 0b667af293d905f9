package clustertree

import (
	"strings"
	"testing"
)

// A server is read as it was written. A value that could confuse a request or a terminal is
// not read.
func TestServers(t *testing.T) {
	t.Parallel()
	long := Server{IP: strings.Repeat("f", maxIP), Address: "https://" + strings.Repeat("a", maxAddress-len("https://"))}
	for _, s := range []Server{{IP: "10.0.0.1", Address: "https://10.0.0.1:8680"}, long} {
		text := s.Encode()
		got, err := DecodeServer(text)
		if s.V = version; err != nil || got != s || len(text) > maxServer {
			t.Errorf("%d bytes of %+v are read as %+v, %v", len(text), s, got, err)
		}
	}
	for _, s := range []Server{{}, {IP: "10.0.0.1"}, {Address: "https://10.0.0.1:1"}, {IP: "1", Address: long.Address + "a"}, {IP: "1\x1b[m", Address: "https://1:1"}} {
		if s.Encode() != nil {
			t.Errorf("%+v is written", s)
		}
	}
	for _, text := range []string{
		"", `{"v":1}`, `{"v":2,"ip":"1","address":"https://1:1"}`, `{"v":1,"ip":"1","address":"https://1:1","more":1}`, `{"v":1,"ip":"","address":"https://1:1"}`,
		`{"v":1,"ip":"1","address":"` + long.Address + `a"}`,
	} {
		if got, err := DecodeServer([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
	names := []string{"x", strings.Repeat("A", serverDigits)}
	for i := range MaxServers + 1 {
		names = append(names, hexOf(i))
	}
	if got := ServerKeys(names); len(got) != MaxServers || got[0] != hexOf(0) {
		t.Errorf("%d names are keys, from %s on", len(got), got[0])
	}
}
