package arch

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// held is a number in a document with the code that determines it.
type held struct{ doc, text, file, code string }

// heldNumbers fail if the code changes but the document does not.
var heldNumbers = []held{
	{"README.md", "with Go 1.26 and git", "go.mod", "\ngo 1.26."},
	{"jobs.toml", "Of one value of the state; all of an item have 256 KiB.", "host/job/validate.go", "MaxState = 256 << 10\n"},
	{"jobs.toml", "#state_value = \"64KiB\"", "host/internal/sandbox/limits.go", "DefaultStateValue = 64 << 10\n"},
	{"jobs.toml", "#grace = \"2s\"", "host/internal/sandbox/limits.go", "DefaultGrace = 2 * time.Second\n"},
	{"jobs.toml", "#limits.batch = \"8MiB\"", "host/internal/sandbox/limits.go", "DefaultBatch = 8 << 20\n"},
	{"jobs.toml", "#memory = \"64MiB\"", "host/internal/sandbox/limits.go", "DefaultMemory = 64 << 20\n"},
	{"jobs.toml", "#http_calls = 100", "host/internal/sandbox/limits.go", "DefaultHTTPCalls = 100\n"},
	{"jobs.toml", "#http_body = \"5MiB\"", "host/internal/sandbox/limits.go", "DefaultHTTPBody = 5 << 20\n"},
	{"jobs.toml", "#result = \"1MiB\"", "host/internal/sandbox/limits.go", "DefaultResult = 1 << 20\n"},
	{"jobs.toml", "#open_files = 128", "host/internal/sandbox/limits.go", "DefaultOpenFiles = 128\n"},
	{"jobs.toml", "have 20 times that together", "host/internal/lograte/rate.go", "const JobFactor = 20\n"},
	{"jobs.toml", "#log_line = \"4KiB\"", "host/internal/sandbox/limits.go", "DefaultLogLine = 4 << 10\n"},
	{"jobs.toml", "#log_rate = 50", "host/internal/sandbox/limits.go", "DefaultLogRate = 50\n"},
	{"README.md", "run ten thousand times a second", "host/internal/sandbox/fuel.go", "betweenYields = 100 * time.Microsecond\n"},
	{"README.md", "Six seconds later its session is over", "plugins/examples/long-wat/jobs.toml", `session_timeout = "6s"`},

	{"CONTRIBUTING.md", "Under 400 lines; a function under", "host/internal/arch/sizes_test.go", "fileLines     = 400\n"},
	{"CONTRIBUTING.md", "a function under 60.", "host/internal/arch/sizes_test.go", "functionLines = 60\n"},
	{"CONTRIBUTING.md", "has 80 characters at most", ".ci/commits", "${#subject} -le 80 "},

	{"docs/ARCHITECTURE.md", "About every 100 µs the guest reports", "host/internal/sandbox/fuel.go", "betweenYields = 100 * time.Microsecond\n"},

	{"docs/OPERATIONS.md", "30 s by default", "host/config/build.go", "defaultSession = 30 * time.Second\n"},
	{"docs/OPERATIONS.md", "how long they try (10 s)", "cmd/wasmjobd/operator.go", "defaultPatience = 10 * time.Second\n"},
	{"docs/OPERATIONS.md", "up to eight that ran before", "host/internal/definition/swap.go", "maxPast = 8\n"},
	{"docs/OPERATIONS.md", "`--wait` (2 min)", "cmd/wasmjobd/module.go", "switchPatience = 2 * time.Minute\n"},
	{"docs/OPERATIONS.md", "the last 8 KiB of what", "host/runlog/lines.go", "keptLog = 8 << 10\n"},
	{"docs/API.md", "fit into 4 MiB", "host/admin/nodes.go", "maxNodes = 4 << 20\n"},
	{"docs/OPERATIONS.md", "64 MiB at most each", "host/internal/module/size.go", "MaxSize = 64 << 20\n"},
	{"docs/OPERATIONS.md", "beyond 8 GiB a starting server", "host/internal/sandbox/cache.go", "maxCacheBytes = 8 << 30\n"},
	{"docs/OPERATIONS.md", "too long for a socket (107 bytes)", "host/admin/socket.go", "maxPath = 107\n"},
	{"docs/OPERATIONS.md", "the jobs of the registry, up to 1,000", "host/operator/after.go", "maxCircle = 1000\n"},
	{"docs/OPERATIONS.md", "`application/json`, at most 64 KiB", "host/admin/body.go", "maxBody = 64 << 10\n"},
	{"docs/OPERATIONS.md", "the newest 1024 events of its process and at most 1 MiB of them", "host/admin/events.go", "maxEvents     = 1024\n	maxEventBytes = 1 << 20\n"},
	{"docs/OPERATIONS.md", "after 200 requests at once", "host/admin/guard.go", "callerBurst     = 200\n"},
	{"docs/OPERATIONS.md", "who gets 50 a second", "host/admin/guard.go", "callerPerSecond = 50\n"},
	{"docs/OPERATIONS.md", "After ten wrong tokens", "host/admin/guard.go", "failureBurst     = 10\n"},
	{"docs/API.md", "After 25 s the stream ends", "host/admin/events.go", "streamTime = 25 * time.Second\n"},
	{"docs/API.md", "rows (100, at most 1000)", "host/admin/pages.go", "maxPage     = 1000\n"},
	{"docs/OPERATIONS.md", "answers 16 requests at once, for 30 s at most", "host/admin/serve.go", "workTimeout  = 30 * time.Second\n"},
	{"docs/OPERATIONS.md", "answers 16 requests at once", "host/admin/serve.go", "maxRequests = 16 "},
	{"docs/OPERATIONS.md", "at most, on 64 connections", "internal/connections/connections.go", "Most = 64\n"},
	{"docs/OPERATIONS.md", "`peer_listen` takes 64 connections", "internal/connections/connections.go", "Most = 64\n"},
	{"docs/OPERATIONS.md", "1 MiB for calls", "host/internal/sandbox/stack.go", "stackSize = 1 << 20\n"},

	{"docs/OPERATIONS.md", "When there are 200 alerts", "host/internal/layout/clustertree/alerts.go", "MaxAlerts       = 200\n"},
	{"docs/PROTOCOL.md", "a row of at most 2 KiB", "host/internal/layout/clustertree/audit.go", "maxRow = 2 << 10\n"},
	{"docs/PROTOCOL.md", "Within 24 hours the", "host/internal/layout/clustertree/keys.go", "KeyAge = 24 * time.Hour\n"},
	{"docs/PROTOCOL.md", "are at most 1,000. Of", "host/internal/layout/clustertree/tokens.go", "MaxTokens    = 1000\n"},
	{"docs/PROTOCOL.md", "Rows over 1,000 are deleted", "host/internal/layout/clustertree/audit.go", "MaxRows   = 1000\n"},
	{"docs/OPERATIONS.md", "1,024 bytes in place of the job parameter", "host/operator/again.go", "MaxParam = 1024\n"},
	{"docs/PROTOCOL.md", "have up to 128 keys each", "host/internal/layout/clustertree/keys.go", "MaxKeys   = 128\n"},
	{"docs/PROTOCOL.md", "The state of an item has at most 256 KiB", "host/job/validate.go", "MaxState = 256 << 10\n"},
	{"docs/PROTOCOL.md", "A list of times has at most 127 different ones", "host/internal/protocol/weight.go", "MaxMoments = 127\n"},
	{"docs/PROTOCOL.md", "waits for a reshard at most ten seconds", "host/internal/runner/runner.go", "reshardWait = 10_000\n"},
	{"docs/PROTOCOL.md", "it waits 200 ms", "host/internal/protocol/foreign_guarantee.go", "seenFor = 200\n"},
	{"docs/PROTOCOL.md", "100,000 items take less than", "host/internal/layout/spelling/numbers.go", "MaxItems = 100_000\n"},
	{"docs/PROTOCOL.md", "take less than 550 KiB in any order", "host/internal/layout/jobtree/size_test.go", "len(text) > 550<<10 {"},
	{"docs/PROTOCOL.md", "first end of a fire waits 2 ms for others", "host/internal/runner/runner.go", "linger = 2\n"},
	{"docs/PROTOCOL.md", "at most 900 KiB as it is sent", "host/internal/layout/spelling/numbers.go", "MaxBytes = 900 << 10\n"},
	{"docs/PROTOCOL.md", "waits (20 ms, and a tenth of one for each item)", "host/internal/protocol/parts.go", "return 20 + int64(total)/10 }"},
	{"docs/PROTOCOL.md", "came within 50 ms, and two for each item", "host/internal/protocol/foreign_leader.go", "startLag     = 50\n\tstartLagItem = 2\n"},
	{"docs/PROTOCOL.md", "or more than 100,000 items", "host/internal/layout/spelling/numbers.go", "MaxItems = 100_000\n"},

	{"docs/FAULTS.md", "a sign of life every 50 ms", "test/faults/guest/main.go", "beat = 50 * time.Millisecond\n"},

	{"docs/CASEKEYS.md", "| deadline of the run | `10s` |", "host/config/cases.go", "caseTimeout  = 10 * time.Second "},
	{"docs/CASEKEYS.md", "may go on after the deadline | `2s` |", "host/internal/sandbox/limits.go", "DefaultGrace = 2 * time.Second\n"},
	{"docs/CASEKEYS.md", "| memory limit | `64MiB` |", "host/internal/sandbox/limits.go", "DefaultMemory = 64 << 20\n"},

	{"abi/REFERENCE.md", "cut after 8 KiB", "host/internal/sandbox/hostcalls.go", "maxErrorText = 8 << 10\n"},
	{"abi/ABI.md", "64 KiB of secrets in headers", "host/internal/sandbox/limits.go", "maxInserted    = 64 << 10 "},
	{"abi/REFERENCE.md", "-5 above 64 KiB", "host/internal/sandbox/limits.go", "maxRandom      = 64 << 10 "},
	{"abi/ABI.md", "at most 64 values", "host/internal/sandbox/limits.go", "maxStateValues = 64 "},
	{"abi/ABI.md", "and 256 KiB in all with their keys", "host/job/validate.go", "MaxState = 256 << 10\n"},
	{"abi/ABI.md", "the last 4 KiB of stderr", "host/internal/sandbox/output.go", "maxStderrKept = 4 << 10\n"},
	{"abi/ABI.md", "64 MiB of code", "host/internal/sandbox/check.go", "defaultModule  = 64 << 20 "},
	{"abi/ABI.md", "50,000 locals", "host/internal/wasm/module.go", "maxLocals   = 50_000 "},
	{"abi/ABI.md", "50,000 branches", "host/internal/wasm/module.go", "maxBranches = 50_000 "},
	{"abi/ABI.md", "500,000 entries in all", "host/internal/sandbox/check.go", "maxTable       = 500_000 "},
	{"abi/ABI.md", ", 100 results,", "host/internal/wasm/module.go", "maxResults     = 100\n"},
	{"abi/ABI.md", "names of 100,000 bytes", "host/internal/wasm/module.go", "MaxName = 100_000\n"},
	{"abi/ABI.md", "than about 4 seconds or", "host/internal/sandbox/effort.go", "maxEffort    = 4_000_000_000 // nanoseconds"},
	{"abi/ABI.md", "seconds or 512 MiB", "host/internal/sandbox/effort.go", "maxLoad      = 512 << 20 "},
	{"abi/ABI.md", "together more than 4 seconds and", "host/internal/sandbox/effort.go", "effortAll    = 4_000_000_000 // nanoseconds"},
	{"abi/ABI.md", "and 6 for each megabyte of code", "host/internal/sandbox/effort.go", "effortOfByte = 6_000 "},
	{"abi/ABI.md", "1 MiB of stack", "host/internal/sandbox/stack.go", "stackSize = 1 << 20\n"},

	{"abi/conformance/README.md", "one line of JSON, at most 32 MiB", "abi/conformance/lines.go", "maxLine = 32 << 20\n"},
}

// quantity matches a number with a unit. RATIONALE and STATUS are exempt: their numbers
// are measurements, given with their conditions.
var quantity = regexp.MustCompile(`(?:^|[^\w.,:=@-])([1-9][\d,.]*)(?: ?(?:[KMG]i?B|ms|µs|s|min)\b| (?:seconds|minutes|milliseconds|items|ranges|entries|lines|characters|a second|times that)\b)`)

func TestNumbersOfDocuments(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, h := range heldNumbers {
		if !strings.Contains(oneLine(p.read(t, h.doc)), h.text) {
			t.Errorf("%s does not say %q any more: mend heldNumbers", h.doc, h.text)
		}
		if !strings.Contains(p.read(t, h.file), h.code) {
			t.Errorf("%s says %q because of %q in %s, which has changed: mend both", h.doc, h.text, strings.TrimSpace(h.code), h.file)
		}
	}
	for _, doc := range documents {
		if doc == "docs/RATIONALE.md" || doc == "docs/STATUS.md" || slices.Contains(generatedPages, doc) {
			continue
		}
		for _, loose := range looseNumbers(doc, p.read(t, doc), heldNumbers) {
			t.Errorf("%s: nothing holds %q: add it to heldNumbers with the code that decides it, or say it without the number", doc, loose)
		}
	}
	row := []held{{doc: "d", text: "at most 5 MiB each"}}
	for text, want := range map[string]int{
		"at most 5 MiB each": 0, "at most 5 MiB of it": 1, "10.0.0.1 and 3.6 or newer": 0, "waits 20 ms, not 30 s": 2,
		"1,000 items\n": 1, "at most\n  5 MiB each": 0, "```\ntimeout 5s\n```\n": 0, "exit code 10": 0, "| `64MiB` |": 1,
	} {
		if got := looseNumbers("d", text, row); len(got) != want {
			t.Errorf("%q has %d loose numbers, not %d: %q", text, len(got), want, got)
		}
	}
}

// looseNumbers returns the quantities of a document that are not part of a held text.
// Quoted code is checked against its source instead.
func looseNumbers(doc, text string, rows []held) []string {
	text = oneLine(fence.ReplaceAllString(text, ""))
	var spans [][2]int
	for _, h := range rows {
		for at := 0; h.doc == doc; {
			k := strings.Index(text[at:], h.text)
			if k < 0 {
				break
			}
			spans = append(spans, [2]int{at + k, at + k + len(h.text)})
			at += k + len(h.text)
		}
	}
	var loose []string
	for _, m := range quantity.FindAllStringSubmatchIndex(text, -1) {
		if !slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] <= m[2] && m[2] < s[1] }) {
			loose = append(loose, text[m[2]:m[1]])
		}
	}
	return loose
}

// oneLine makes texts comparable whatever their line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
