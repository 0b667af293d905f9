package abi

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestTheCSDKImportsEveryFunction(t *testing.T) {
	t.Parallel()
	src := cHeader(t)
	if !strings.Contains(src, `import_module("`+Module+`")`) {
		t.Errorf("the SDK does not import from %s", Module)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^WASMJOB_IMPORT\((\w+)\) (\w+) wasmjob_v1_(\w+)\((.*)\);$`).FindAllStringSubmatch(src, -1) {
		if m[1] != m[3] {
			t.Errorf("%s is imported as %s", m[1], m[3])
		}
		got = append(got, m[1]+" "+cTypes(t, m[4])+" "+cTypes(t, m[2]))
	}
	sameFunctions(t, got)
	if n := strings.Count(src, "\nWASMJOB_IMPORT("); n != len(got) {
		t.Errorf("%d imports are written in a way that this test cannot read", n-len(got))
	}
}

func cHeader(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("c/wasmjob.h")
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// cTypes converts "int32_t field, void *buf" to "ii".
func cTypes(t *testing.T, list string) string {
	t.Helper()
	known := map[string]string{"int32_t": "i", "int64_t": "I", "double": "F", "void": ""}
	var all string
	for param := range strings.SplitSeq(list, ", ") {
		core, ok := known[strings.Fields(param)[0]]
		if strings.Contains(param, "*") {
			core, ok = "i", true
		}
		if !ok {
			t.Errorf("no rule for %q", param)
		}
		all += core
	}
	return all
}

// WASMJOB_ERR_NOT_FOUND corresponds to ErrNotFound here.
func TestTheCSDKSaysTheSame(t *testing.T) {
	t.Parallel()
	src := cHeader(t)
	spelled := map[string]string{}
	for name := range constants(t, "abi.go") {
		spelled[strings.ToUpper(name)] = name
	}
	sdk := map[string]string{}
	for _, m := range regexp.MustCompile(`\bWASMJOB_(\w+) = (-?\d+)\b`).FindAllStringSubmatch(src, -1) {
		name, ok := spelled[strings.ReplaceAll(m[1], "_", "")]
		if !ok {
			name = m[1]
		}
		sdk[name] = m[2]
	}
	sameNumbers(t, sdk)
	for _, name := range []string{
		ExportExecute, ExportFetch, ExportProcess, ExportShard, ExportBefore, ExportAfter, ExportStarted, ExportCompleted,
	} {
		if !strings.Contains(src, "\nWASMJOB_EXPORT("+name+") int32_t "+name+"(void);\n") {
			t.Errorf("the SDK does not declare %s", name)
		}
	}
	if !strings.Contains(src, "\nWASMJOB_EXPORT("+ExportMarker+") void "+ExportMarker+"(void);\n") {
		t.Errorf("the SDK does not declare %s", ExportMarker)
	}
}
