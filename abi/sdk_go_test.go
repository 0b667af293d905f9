package abi

import (
	"go/constant"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The SDK is a module of its own and repeats what it needs of this package.
func TestTheGoSDKSaysTheSame(t *testing.T) {
	t.Parallel()
	ours, sdk := constants(t, "abi.go"), constants(t, "go/codes.go")
	same := 0
	for name, value := range sdk {
		name = strings.ToUpper(name[:1]) + name[1:]
		if name == "Continue" {
			name = "StopNone"
		}
		want, ok := ours[name]
		switch {
		case !ok:
			t.Errorf("the SDK has %s, which is not in this package", name)
		case !constant.Compare(want, token.EQL, value):
			t.Errorf("%s is %v here and %v in the SDK", name, want, value)
		default:
			same++
		}
	}
	if same < 40 {
		t.Errorf("only %d constants compared", same)
	}
}

func TestTheGoSDKImportsEveryFunction(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("go/imports.go")
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, m := range regexp.MustCompile(`(?m)^//go:wasmimport (\w+) (\w+)$`).FindAllSubmatch(src, -1) {
		if string(m[1]) != Module {
			t.Errorf("import from %s", m[1])
		}
		imports = append(imports, string(m[2]))
	}
	for _, name := range imports {
		if !slices.ContainsFunc(Functions(), func(f Function) bool { return f.Name == name }) {
			t.Errorf("the SDK imports %s, which is not offered", name)
		}
	}
	exports, err := os.ReadFile("go/exports.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ExportMarker, ExportExecute} {
		if !strings.Contains(string(exports), "//go:wasmexport "+name+"\n") {
			t.Errorf("the SDK does not export %s", name)
		}
	}
}
