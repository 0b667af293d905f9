package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Small modules in the binary format. Each exports its memory, the marker and wasmjob_execute.
const (
	// Logs "hi" at info, sets it as the result, and returns the host function's result.
	guestSays = "0061736d0100000001140460027f7f017f60037f7f7f006000006000017f022a020a7761736d6a6f625f76310a726573756c745f73657400000a7761736d6a6f625f7631036c6f67000103030202030503010001072d030e7761736d6a6f625f6162695f763100020f7761736d6a6f625f657865637574650003066d656d6f727902000a19020401007f0b1201047f41024100410210014100410210000b0b08010041000b026869"
	// Returns 200.
	guestFails = "0061736d010000000108026000006000017f03030200010503010001072d030e7761736d6a6f625f6162695f763100000f7761736d6a6f625f657865637574650001066d656d6f727902000a0e020401007f0b0701047f41c8010b"
	// Logs "hi", and loops forever.
	guestDeaf = "0061736d01000000010e0360037f7f7f006000006000017f0212010a7761736d6a6f625f7631036c6f67000003030201020503010001072d03066d656d6f727902000e7761736d6a6f625f6162695f763100010f7761736d6a6f625f6578656375746500020a160202000b1100410241004102100003400c000b41000b0b08010041000b026869"
	// Loops forever.
	guestSpins = "0061736d010000000108026000006000017f03030200010503010001072d030e7761736d6a6f625f6162695f763100000f7761736d6a6f625f657865637574650001066d656d6f727902000a11020401007f0b0a01047f03400c000b000b"
)

// guests writes the modules into a directory.
func guests(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	later := strings.ReplaceAll(guestSays, hex.EncodeToString([]byte("wasmjob_abi_v1")), hex.EncodeToString([]byte("wasmjob_abi_v2")))
	for name, text := range map[string]string{"later": later, "deaf": guestDeaf, "says": guestSays, "fails": guestFails, "spins": guestSpins, "text": hex.EncodeToString([]byte("(module)"))} {
		wasm, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kit := filepath.Join("..", "..", "abi", "conformance", "wat")
	for _, file := range []string{kit + "/deal", kit + "/flow", kit + "/state", kit + "/script", kit + "/before", "testdata/hostile/open"} {
		wasm, err := os.ReadFile(file + ".wasm")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)+".wasm"), wasm, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestExecAndInspect(t *testing.T) {
	t.Parallel()
	dir := guests(t)
	for _, tt := range []struct {
		args string
		code int
		out  string // on standard output
		err  string // on standard error
	}{
		{"exec says.wasm", exitOK, "result      hi\n", "info  hi\n"},
		{"exec says.wasm", exitOK, "verdict     ok (code 0)\n", ""},
		{"exec says.wasm -q --item 2 --total 3 --param p --item-param q --job j --config a=b --memory 1MiB --allow random", exitOK, "peak memory 64 KiB\n", ""},
		{"exec says.wasm -o json", exitOK, `"result": "hi"`, ""},
		{"exec fails.wasm", exitRunFailed, "verdict     failed (code 200)\n", "the run failed: the job failed with code 200"},
		{"exec spins.wasm --timeout 1ms --grace 1ms", exitRunCancelled, "verdict     deadline", "deadline of 1ms passed"},
		{"exec says.wasm --allow dir=ro:none-there:/data", exitRunFailed, "", "open granted directory"},
		{"exec text.wasm", exitInvalid, "", "not a Wasm binary"},
		{"exec later.wasm", exitInvalid, "", "the module is written for version 2 of the contract; this host speaks version 1"},
		{"inspect later.wasm", exitInvalid, "abi        none\n", "written for version 2 of the contract"},
		{"exec open.wasm --config path=x", exitRunFailed, "", "no directory is granted; if the job needs one, allow it with dirs = ["},
		{"exec none.wasm", exitNotFound, "", "there is no file"},
		{"exec", exitUsage, "", "write one module"},
		{"exec says.wasm --item 1", exitUsage, "", "0 to total-1"},
		{"exec says.wasm --total 100001", exitUsage, "", "at most 100000"},
		{"exec says.wasm --attempt 0", exitUsage, "", "the first is 1"},
		{"exec says.wasm --timeout -1s", exitUsage, "", "--timeout -1s"},
		{"exec says.wasm --grace -1s", exitUsage, "", "--grace -1s"},
		{"exec says.wasm --allow dir=ro:.:data", exitUsage, "", `"data" is not absolute`},
		{"exec says.wasm --allow dir=ro:.:/a --allow dir=ro:.:/a", exitUsage, "", "listed twice"},
		{"exec .", exitInvalid, "", "is a directory"},
		{"inspect .", exitInvalid, "", "is a directory"},
		{"exec says.wasm --config a", exitUsage, "", "write key=value"},
		{"exec says.wasm --allow net", exitUsage, "", "write dir, env,"},
		{"exec says.wasm --allow dir=wo:a:/b", exitUsage, "", "write dir=ro:HOST:GUEST"},
		{"exec says.wasm --allow state --allow http=https://a.org --allow secret=s=env:SECRET --allow secret=t=x --allow clock", exitOK, "fuel ", ""},
		{"exec says.wasm --allow state=.", exitNotFound, "", "state of the item"},
		{"exec says.wasm --allow state=" + filepath.Join(dir, "says.wasm"), exitInvalid, "", "state of the item"},
		{"exec says.wasm --allow http", exitUsage, "", "write http=https"},
		{"exec says.wasm --allow http=https://a.org --allow private_host=a.org", exitOK, "", ""},
		{"exec says.wasm --allow http=https://a.org --allow private_host=127.0.0.1", exitUsage, "", "a private host is listed by its name"},
		{"exec says.wasm --allow private_host", exitUsage, "", "write private_host=NAME"},
		{"exec says.wasm --allow http=a.org", exitUsage, "", "it has no scheme"},
		{"exec says.wasm --allow secret=s", exitUsage, "", "write secret=NAME=VALUE"},
		{"exec says.wasm --allow secret=s=env:NOT_SET", exitUsage, "", "env:NOT_SET: the variable is not set"},
		{"exec says.wasm --allow secret=s=file:none", exitNotFound, "", "secret=s=file:none: open none"},
		{"exec says.wasm --kind strategy", exitInvalid, "", "not of the kind strategy; it can be: simple"},
		{"exec says.wasm --kind other", exitUsage, "", "write simple, dataflow"},
		{"exec says.wasm --instance a", exitInvalid, "", "not of the kind strategy"},
		{"exec says.wasm --kind simple --instance a", exitUsage, "", "are for strategies"},
		{"exec says.wasm --kind simple --streaming", exitUsage, "", "streaming: belongs to jobs of kind dataflow"},
		{"exec says.wasm --streaming", exitInvalid, "", "not of the kind dataflow"},
		{"exec says.wasm --event begun", exitUsage, "", "write started or completed"},
		{"exec says.wasm --kind simple --fetch-count 1", exitUsage, "", "fetch_count: belongs to"},
		{"exec spins.wasm --fuel 1000", exitRunFailed, "verdict     fuel", "raise limits.fuel"},
		{"exec says.wasm --allow env=A", exitUsage, "", "write env=NAME=VALUE"},
		{"exec says.wasm --allow clock=fast", exitUsage, "", "write clock"},
		{"exec says.wasm --memory 5GiB", exitUsage, "", "5GiB is out of range (write 64KiB to 4GiB)"},
		{"exec says.wasm --memory 64", exitUsage, "", "64 is out of range (write 64KiB to 4GiB)"},
		{"exec says.wasm --memory 64KB", exitUsage, "", "write a size"},
		{"exec flow.wasm --item 3 --total 9 --streaming --fetch-count 3", exitOK, "elements    3 succeeded, 0 failed; batches 1\n", ""},
		{"exec flow.wasm --item 3 --total 9 -o json", exitOK, `"succeeded": 3`, ""},
		{"exec state.wasm --allow state", exitOK, "state       a = 1\n", ""},
		{"exec script.wasm --arg 0", exitOK, `result      {"jobName":"script"`, ""},
		{"exec script.wasm --arg 3", exitRunFailed, "verdict     failed (code 3)\n", ""},
		{"exec before.wasm --event started", exitOK, "", "info  s\n"},
		{"exec deal.wasm --param a --total 5", exitOK, "10.0.0.3@-@1 0 3\n10.0.0.2@-@1 1 4\n10.0.0.1@-@1 2\n", ""},
		{"exec deal.wasm --param a --total 3 --instance a --instance b,weight=2 --previous b,-,a", exitOK, "b@-@1       0 2*\na@-@1       1\n(*", ""},
		{"exec deal.wasm --param a --total 2 --instance a@-@1 -o json", exitOK, `"instance": "a@-@1"`, ""},
		{"exec deal.wasm --param m --total 5", exitRunFailed, "verdict     failed\n", "did not assign 1 of 5 items: 4"},
		{"exec deal.wasm --param d --total 5 -o json", exitRunFailed, `"assignment": []`, "gave no reason"},
		{"exec deal.wasm --instance a --instance a", exitUsage, "", "listed twice"},
		{"exec deal.wasm --instance a,b", exitUsage, "", "write id,label=value"},
		{"exec deal.wasm --allow clock", exitUsage, "", "a strategy has no grants"},
		{"exec deal.wasm --instance /", exitUsage, "", "--instance /"},
		{"exec deal.wasm --previous a,b", exitUsage, "", "--total is 1"},
		{"inspect before.wasm", exitOK, "listeners  ", ""},
		{"inspect state.wasm", exitOK, "abi        1 since addition 1\n", ""},
		{"inspect deal.wasm -o json", exitOK, `"since": 1`, ""},
		{"inspect says.wasm", exitOK, "kinds      simple\n", ""},
		{"inspect says.wasm", exitOK, "  wasmjob_v1.log (i32 i32 i32) -> ()\n", ""},
		{"inspect says.wasm -o json", exitOK, `"runs": true`, ""},
		{"inspect text.wasm", exitInvalid, "", "give the .wasm file"},
		{"inspect text.wasm -o json", exitInvalid, `"refused": "not-wasm"`, ""},
		{"inspect none.wasm", exitNotFound, "", "there is no file"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(tt.args)
			if len(args) > 1 {
				args[1] = filepath.Join(dir, args[1])
			}
			var out, say bytes.Buffer
			code := run(t.Context(), args, []string{"SECRET=x"}, strings.NewReader(""), &out, &say)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(say.String(), tt.err) {
				t.Errorf("code %d, want %d\nout: %s\nerr: %s", code, tt.code, out.String(), say.String())
			}
		})
	}
}

// State survives in its file, whatever its bytes are.
func TestStateOfAnItem(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	first := itemState{file: file}
	if err := first.open(); err != nil {
		t.Fatal(err)
	}
	if err := first.Save(t.Context(), map[string][]byte{"text": []byte("1"), "bytes": {0xff, 0}, "gone": {}}); err != nil {
		t.Fatal(err)
	}
	next := itemState{file: file}
	if err := next.open(); err != nil {
		t.Fatal(err)
	}
	values, err := next.Load(t.Context())
	if err != nil || string(values["text"]) != "1" || string(values["bytes"]) != "\xff\x00" || len(values) != 3 {
		t.Fatalf("%q, %v", values, err)
	}
	delete(values, "gone")
	values["text"] = []byte("2")
	if err := next.Save(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(next.changes())
	if want := `[{"key":"gone","before":"","after":null},{"key":"text","before":"1","after":"2"}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if files, err := os.ReadDir(filepath.Dir(file)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	for _, text := range []string{`[]`, `null`, `{"a":1}`, `{"a":null}`, `{"a":{}}`, `{"a":{"base":""}}`, `{"a":{"base64":"?"}}`, `{"a":{"base64":null}}`, ``} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if (&itemState{file: file}).open() == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestExecReadsStandardInput(t *testing.T) {
	t.Parallel()
	wasm, err := hex.DecodeString(guestSays)
	if err != nil {
		t.Fatal(err)
	}
	var out, say bytes.Buffer
	code := run(t.Context(), []string{"exec", "-", "--job", "j", "-o", "json"}, nil, bytes.NewReader(wasm), &out, &say)
	var got execution
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != exitOK {
		t.Fatalf("code %d, %v: %s%s", code, err, out.String(), say.String())
	}
	if got.Verdict != "ok" || got.HostCalls != 2 || len(got.Log) != 1 || got.Log[0] != (logLine{"info", "hi"}) || got.Took == "" {
		t.Errorf("%+v", got)
	}
}

func TestInspectReadsStandardInput(t *testing.T) {
	t.Parallel()
	var out, say bytes.Buffer
	code := run(t.Context(), []string{"inspect", "-"}, nil, strings.NewReader("\x00asm\x0d\x00\x01\x00"), &out, &say)
	if code != exitInvalid || out.Len() > 0 || !strings.Contains(say.String(), "component") {
		t.Errorf("code %d\nout: %s\nerr: %s", code, out.String(), say.String())
	}
}

func TestByteSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"1": 0, "64MiB": 64 << 20, "4GiB": 4 << 30, "3 KiB": 0, "65535": 0, "65536": 64 << 10, "64 KiB": 64 << 10, "4294967297": 0, "0": 0, "-1": 0, "1MB": 0, "x": 0, "": 0, "5GiB": 0} {
		var s byteSize
		if err := s.Set(text); (err == nil) != (want > 0) || int64(s) != want {
			t.Errorf("%q: %d, %v", text, s, err)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 64 << 20: "64 MiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
