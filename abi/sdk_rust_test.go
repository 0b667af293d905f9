package abi

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func rust(t *testing.T, file string) string {
	t.Helper()
	src, err := os.ReadFile("rust/src/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func TestTheRustSDKImportsEveryFunction(t *testing.T) {
	t.Parallel()
	_, block, ok := strings.Cut(rust(t, "imports.rs"), "#[link(wasm_import_module = \""+Module+"\")]\nextern \"C\" {\n")
	if !ok {
		t.Fatalf("imports.rs has no block of imports from %s", Module)
	}
	types := map[string]string{"i32": "i", "usize": "i", "*const u8": "i", "*mut u8": "i", "i64": "I", "f64": "F", "": ""}
	var got []string
	for _, m := range regexp.MustCompile(`(?s)\bfn (\w+)\((.*?)\)(?: -> (\w+))?;`).FindAllStringSubmatch(block, -1) {
		var params string
		last := ""
		for param := range strings.SplitSeq(m[2], ",") {
			_, typ, _ := strings.Cut(strings.TrimSpace(param), ": ")
			core, ok := types[typ]
			if !ok {
				t.Errorf("%s: no rule for the type %q", m[1], typ)
			}
			// Each pointer is followed by a length, and a length follows only a pointer.
			if strings.HasPrefix(last, "*") != (typ == "usize") {
				t.Errorf("%s: %q follows %q", m[1], typ, last)
			}
			params, last = params+core, typ
		}
		if strings.HasPrefix(last, "*") {
			t.Errorf("%s: a pointer without a length", m[1])
		}
		got = append(got, m[1]+" "+params+" "+types[m[3]])
	}
	sameFunctions(t, got)
	if n := strings.Count(block, "fn "); n != len(got) {
		t.Errorf("%d imports are written in a way that this test cannot read", n-len(got))
	}
}

// An import is useful only if something calls it, in a module and in the fake host.
func TestTheRustSDKOffersEveryFunction(t *testing.T) {
	t.Parallel()
	guest, fake := rust(t, "guest.rs"), rust(t, "fake/calls.rs")
	var sdk strings.Builder
	for _, file := range []string{"context.rs", "dataflow.rs", "deal.rs", "entry.rs", "http.rs", "log.rs", "state.rs"} {
		sdk.WriteString(rust(t, file))
	}
	for _, f := range Functions() {
		if !strings.Contains(guest, "imports::"+f.Name+"(") {
			t.Errorf("guest.rs does not call %s", f.Name)
		}
		if !regexp.MustCompile(`(?m)^(    |pub\(crate\) fn )` + f.Name + `\(`).MatchString(fake) {
			t.Errorf("fake/calls.rs does not have %s", f.Name)
		}
		if !strings.Contains(sdk.String(), "host::"+f.Name+"(") {
			t.Errorf("nothing in the SDK needs %s", f.Name)
		}
	}
}

func TestTheRustSDKSaysTheSame(t *testing.T) {
	t.Parallel()
	// FieldRunID corresponds to FIELD_RUN_ID there.
	names := map[string]string{}
	for name := range constants(t, "abi.go") {
		names[strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))] = name
	}
	src := rust(t, "codes.rs")
	sdk := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^pub\(crate\) const (\w+): i(?:32|64) = (.+);$`).FindAllStringSubmatch(src, -1) {
		name, ok := names[m[1]]
		if !ok {
			t.Errorf("the SDK has %s, which is not in this package", m[1])
			continue
		}
		if m[2] == "i64::MIN" {
			m[2] = strconv.Itoa(NoInt)
		}
		sdk[name] = m[2]
	}
	if _, ok := sdk["NoInt"]; !ok {
		t.Error("the SDK lacks NoInt")
	}
	if n := strings.Count(src, "const "); n != len(sdk) {
		t.Errorf("%d constants are written in a way that this test cannot read", n-len(sdk))
	}
	sameNumbers(t, sdk)
}

func TestTheRustSDKExportsEveryEntry(t *testing.T) {
	t.Parallel()
	src := rust(t, "entry.rs")
	entries := map[string]string{
		ExportExecute: "job", ExportFetch: "fetch", ExportProcess: "process", ExportShard: "deal",
		ExportBefore: "job", ExportAfter: "job", ExportStarted: "job", ExportCompleted: "job",
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if !strings.Contains(src, `__export!("`+name+`", `+entries[name]+`, `) {
			t.Errorf("no macro of the SDK exports %s", name)
		}
	}
	if n := strings.Count(src, "$crate::__export!("); n != len(entries) {
		t.Errorf("%d entries are exported, wanted %d", n, len(entries))
	}
	if !strings.Contains(src, "extern \"C\" fn "+ExportMarker+"() {}") {
		t.Errorf("the SDK does not export %s", ExportMarker)
	}
}
