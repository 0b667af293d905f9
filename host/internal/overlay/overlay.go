package overlay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// NumberVariable is the environment variable that selects the mutant of a program built
// with an overlay.
const NumberVariable = "WASMJOBD_MUTANT"

// Overlay holds the files that the compiler uses in place of those of other packages.
// Each function that mutants edit has edited copies beside it, and calls the copy of the
// process's mutant.
type Overlay struct {
	files map[string]*overlaid // by path
}

type overlaid struct {
	pkg    string
	text   []byte
	copies bytes.Buffer
	calls  map[int]*dispatch // by offset of the function's body
}

// dispatch calls the copies of one function.
type dispatch struct {
	fn   *ast.FuncDecl
	fset *token.FileSet
	to   []int // numbers of mutants
}

// New returns an Overlay without mutants.
func New() *Overlay { return &Overlay{files: map[string]*overlaid{}} }

// Add edits functions for the mutant with the given number.
func (o *Overlay) Add(number int, edits []Edit) error {
	byFunction := map[string][]Edit{}
	for _, e := range edits {
		byFunction[e.Func] = append(byFunction[e.Func], e)
	}
	for _, name := range slices.Sorted(maps.Keys(byFunction)) {
		f, fset, fn, err := o.find(name)
		if err != nil {
			return err
		}
		body := fset.Position(fn.Body.Lbrace).Offset
		if f.calls[body] == nil {
			// The call goes into the function as it was; fn is edited below.
			_, original, untouched, err := o.find(name)
			if err != nil {
				return err
			}
			f.calls[body] = &dispatch{fn: untouched, fset: original}
		}
		f.calls[body].to = append(f.calls[body].to, number)
		for _, e := range byFunction[name] {
			if err := e.apply(fn); err != nil {
				return err
			}
		}
		fn.Name.Name = copyName(fn.Name.Name, number)
		text, err := formatted(fn)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.copies.WriteString("\n" + text + "\n")
	}
	return nil
}

// copyName is the name of the copy of a function that a mutant calls.
func copyName(fn string, number int) string { return fmt.Sprintf("%s_mutant%d", fn, number) }

// formatted prints a function without its positions, which are no longer valid.
func formatted(fn *ast.FuncDecl) (string, error) {
	fn.Doc = nil
	var text bytes.Buffer
	if err := format.Node(&text, token.NewFileSet(), fn); err != nil {
		return "", fmt.Errorf("print the function: %w", err)
	}
	return text.String(), nil
}

// find parses the file that declares package.function or package.Type.method.
func (o *Overlay) find(name string) (*overlaid, *token.FileSet, *ast.FuncDecl, error) {
	pkg, function, _ := strings.Cut(name, ".")
	var paths []string
	for _, above := range []string{"..", filepath.Join("..", "layout"), filepath.Join("..", ".."), filepath.Join("..", "..", "registry")} {
		more, err := filepath.Glob(filepath.Join(above, pkg, "*.go"))
		if err != nil {
			return nil, nil, nil, fmt.Errorf("look for package %s: %w", pkg, err)
		}
		paths = append(paths, more...)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, nil, err
		}
		if short := function[strings.Index(function, ".")+1:]; !bytes.Contains(text, []byte(short+"(")) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("parse %s: %w", path, err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && declared(fn) == function {
				if o.files[path] == nil {
					o.files[path] = &overlaid{pkg: pkg, text: text, calls: map[int]*dispatch{}}
				}
				return o.files[path], fset, fn, nil
			}
		}
	}
	return nil, nil, nil, fmt.Errorf("there is no function %s", name)
}

// declared returns a function's name, preceded by its receiver's type.
func declared(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	return fmt.Sprintf("%s.%s", t, fn.Name)
}

// edited returns the text of a file with all copies at its end. Each function that has
// copies begins by calling the mutant's, and parameters without a name get one for that.
func (f *overlaid) edited() []byte {
	var out bytes.Buffer
	done := 0
	for _, at := range slices.Sorted(maps.Keys(f.calls)) {
		d := f.calls[at]
		for _, p := range d.blanks() {
			from := d.fset.Position(p.Pos()).Offset
			out.Write(f.text[done:from])
			fmt.Fprintf(&out, "blank%d", from)
			done = from + len("_")
		}
		out.Write(f.text[done : at+1])
		out.WriteString(d.code())
		done = at + 1
	}
	out.Write(f.text[done:])
	out.Write(f.copies.Bytes())
	return out.Bytes()
}

// blanks returns the parameters without a name. They get one so that they can be passed
// on.
func (d *dispatch) blanks() []*ast.Ident {
	var all []*ast.Ident
	for _, p := range d.fn.Type.Params.List {
		for _, name := range p.Names {
			if name.Name == "_" {
				all = append(all, name)
			}
		}
	}
	return all
}

// code returns the beginning of the function, which calls its copy.
func (d *dispatch) code() string {
	var args []string
	for _, p := range d.fn.Type.Params.List {
		for _, name := range p.Names {
			arg := name.Name
			if arg == "_" {
				arg = fmt.Sprintf("blank%d", d.fset.Position(name.Pos()).Offset)
			}
			if _, ok := p.Type.(*ast.Ellipsis); ok {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	receiver, result, after := "", "return ", ""
	if d.fn.Recv != nil {
		receiver = d.fn.Recv.List[0].Names[0].Name + "."
	}
	if d.fn.Type.Results == nil {
		result, after = "", "; return"
	}
	var code strings.Builder
	code.WriteString(" switch mutantNumber {")
	for _, n := range d.to {
		fmt.Fprintf(&code, " case %d: %s%s%s(%s)%s;", n, result, receiver, copyName(d.fn.Name.Name, n), strings.Join(args, ", "), after)
	}
	return code.String() + " };"
}

// Build compiles the tests of the package in a folder with the overlay, and returns the
// path of the binary. It writes everything to dir.
func (o *Overlay) Build(ctx context.Context, tested, dir string) (string, error) {
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		full, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("find %s: %w", path, err)
		}
		if replace[full] != "" { // mutant_number.go of a package with several edited files
			return nil
		}
		replace[full] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		return os.WriteFile(replace[full], text, 0o600)
	}
	for path, f := range o.files {
		if err := put(path, f.edited()); err != nil {
			return "", err
		}
		number := "package " + f.pkg + "\nimport (\"os\"; \"strconv\")\nvar mutantNumber, _ = strconv.Atoi(os.Getenv(\"" + NumberVariable + "\"))\n"
		if err := put(filepath.Join(filepath.Dir(path), "mutant_number.go"), []byte(number)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("list the files: %w", err)
	}
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", file, "-o", binary, tested).CombinedOutput() //nolint:gosec // tests name the package
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}
