package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/config"
)

func TestGrantedSecretsAreLikeThoseOfAServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	most := strings.Repeat("a", config.MaxSecret)
	for _, tt := range []struct {
		from, content string // the content of the file, or of V
		want, refusal string
	}{
		{"file:" + file, "a\n\n", "a\n", ""},
		{"file:" + file, "a\r\n", "a", ""},
		{"file:" + file, most + "\n", most, ""},
		{"file:" + file, most + "a", "", "has at most 65536 bytes"},
		{"file:" + file, "\n", "", "it is empty"},
		{"env:V", "a\n", "a\n", ""},
		{"env:V", "", "", "secret=s=env:V: it is empty"},
		{most, "", most, ""},
		{most + "a", "", "", "has at most 65536 bytes"},
	} {
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		g := &grants{env: []string{"V=" + tt.content}}
		err := g.parse([]string{"secret=s=" + tt.from})
		switch {
		case tt.refusal == "" && (err != nil || g.secrets["s"] != tt.want):
			t.Errorf("%.20q of %.20q: %.20q, %v", tt.from, tt.content, g.secrets["s"], err)
		case tt.refusal != "" && (err == nil || !strings.Contains(err.Error(), tt.refusal) || strings.Contains(err.Error(), most)):
			t.Errorf("%.20q of %.20q: %v; want an error with %q and without the secret", tt.from, tt.content, err, tt.refusal)
		}
	}
}
