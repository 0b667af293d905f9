package record

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

// TestAnswers compares how the library of 2.0.5 reads the configuration texts that 2.1.5
// was asked to read.
func TestAnswers(t *testing.T) {
	if !*want {
		return // it needs Java, and minutes: make record
	}
	var texts bytes.Buffer
	for _, v := range recorded.Vectors[map[string]any](t, "config/lite2.jsonl") {
		text, ok := v["s"].(string)
		if !ok {
			text, ok = v["want"].(map[string]any)["json"].(string)
		}
		if !ok || text == "" {
			continue
		}
		if err := json.NewEncoder(&texts).Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "java", "-cp", buildJava(t, "2.0"), "recorder.Answers")
	cmd.Env, cmd.Stdin = append(os.Environ(), "LC_ALL=C.UTF-8"), &texts
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	const file = "config20.jsonl"
	if *keep {
		if err := os.WriteFile(filepath.Join(recorded.Root(t), "host/job/recorded/testdata/earlier", file), got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, recorded.Earlier(t, file)) {
		t.Errorf("the library answers otherwise than is kept:\n%s", got)
	}
}
