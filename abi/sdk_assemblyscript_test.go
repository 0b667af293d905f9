package abi

import (
	"fmt"
	"go/constant"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Requirements on every SDK: its imports are Functions, and each of its numbers is one of
// abi.go. The constants of abi.go that an SDK must have begin with these prefixes.
var sdkPrefixes = []string{"Err", "Field", "Result", "Ack", "Stop", "Level"}

func TestTheAssemblyScriptSDKImportsEveryFunction(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("assemblyscript/assembly/imports.ts")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`(?m)^@external\("(\w+)", "(\w+)"\)\nexport declare function (\w+)\((.*?)\): (\w+);$`)
	types := map[string]string{"i32": "i", "usize": "i", "i64": "I", "f64": "F", "void": ""}
	var got []string
	for _, m := range pattern.FindAllStringSubmatch(string(src), -1) {
		if m[1] != Module || m[2] != m[3] {
			t.Errorf("%s is imported from %s as %s", m[3], m[1], m[2])
		}
		var params string
		for param := range strings.SplitSeq(m[4], ", ") {
			_, typ, _ := strings.Cut(param, ": ")
			params += types[typ]
		}
		got = append(got, m[2]+" "+params+" "+types[m[5]])
	}
	sameFunctions(t, got)
	if n := strings.Count(string(src), "@external("); n != len(got) {
		t.Errorf("%d imports are written in a way that this test cannot read", n-len(got))
	}
}

// The fake hosts for tests of jobs also have every function, and the same HostMinor.
func TestTheFakesHaveEveryFunction(t *testing.T) {
	t.Parallel()
	for _, fake := range []struct{ file, function, minor string }{
		{"assemblyscript/testing/imports.mjs", `(?m)^ +(?:all\.)?NAME(?:\(|: | = )`, "if (field === HOST_MINOR) return %dn;"},
		{"c/wasmjob_fake.h", `(?m)^\w+ wasmjob_v1_NAME\(.*\{`, "number[WASMJOB_FIELD_HOST_MINOR - 100] = %d;"},
	} {
		src, err := os.ReadFile(fake.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Functions() {
			if !regexp.MustCompile(strings.ReplaceAll(fake.function, "NAME", f.Name)).Match(src) {
				t.Errorf("%s does not have %s", fake.file, f.Name)
			}
		}
		if minor := fmt.Sprintf(fake.minor, HostMinor); !strings.Contains(string(src), minor) {
			t.Errorf("%s does not have %s", fake.file, minor)
		}
	}
}

// sameFunctions compares lines of "name params results" with the table.
func sameFunctions(t *testing.T, got []string) {
	t.Helper()
	var want []string
	for _, f := range Functions() {
		want = append(want, f.Name+" "+f.Params+" "+f.Results)
	}
	slices.Sort(got)
	slices.Sort(want)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("the SDK does not import %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("the SDK imports %s, which is not offered", line)
		}
	}
}

// sameNumbers compares names and numbers of an SDK with the constants here.
func sameNumbers(t *testing.T, sdk map[string]string) {
	t.Helper()
	ours := constants(t, "abi.go")
	for name, number := range sdk {
		value, ok := ours[name]
		switch {
		case !ok:
			t.Errorf("the SDK has %s, which is not in this package", name)
		case value.Kind() != constant.Int || value.ExactString() != number:
			t.Errorf("%s is %s here and %s in the SDK", name, value.ExactString(), number)
		}
	}
	for name := range ours {
		belongs := slices.ContainsFunc(sdkPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if _, ok := sdk[name]; belongs && !ok {
			t.Errorf("the SDK lacks %s", name)
		}
	}
}

// An enumeration of the SDK has the constants with one of the prefixes here.
func TestTheAssemblyScriptSDKSaysTheSame(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("assemblyscript/assembly/codes.ts")
	if err != nil {
		t.Fatal(err)
	}
	prefixes := map[string]string{"Outcome": "Result", "Code": "Err", "Ack": "Ack", "Stop": "Stop", "Level": "Level", "Field": "Field"}
	names := map[string]string{"ResultDone": "ResultOK", "ErrOk": ""}
	sdk := map[string]string{}
	for _, enum := range regexp.MustCompile(`(?ms)^export const enum (\w+) \{$(.*?)^\}$`).FindAllStringSubmatch(string(src), -1) {
		prefix, ok := prefixes[enum[1]]
		if !ok {
			t.Errorf("what does the enumeration %s stand for?", enum[1])
		}
		for _, member := range regexp.MustCompile(`(?m)^  (\w+) = (-?\d+),$`).FindAllStringSubmatch(enum[2], -1) {
			name := prefix + member[1]
			if other, ok := names[name]; ok {
				name = other
			}
			if name != "" {
				sdk[name] = member[2]
			}
		}
	}
	sameNumbers(t, sdk)
	index, err := os.ReadFile("assemblyscript/index.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(index), "export function "+ExportMarker+"(): void {}") {
		t.Errorf("the SDK does not offer %s for export", ExportMarker)
	}
}
