package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/wasmjob/wasmjob"

// source is one Go file of the project, whatever its build constraints.
type source struct {
	rel  string // path from the root, with slashes
	test bool
	ast  *ast.File
}

// folder is one directory with Go files: a package and its tests.
type folder struct {
	rel   string // path from the root: "host/job"
	guest string // folder of its nested module; empty for the main module
	files []source
}

// project is the parsed tree.
type project struct {
	root    string
	fset    *token.FileSet
	folders []folder
}

// load parses every Go file below the root once. Because this process reads the files
// itself, the test cache runs the rules again after every edit.
var load = sync.OnceValues(func() (*project, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	p := &project{root: root, fset: token.NewFileSet()}
	var guests []string
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel != "." && skipped(d.Name()) {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." {
			guests = append(guests, rel)
		}
		return p.add(name, rel, guests)
	})
	return p, err
})

func skipped(dir string) bool {
	return strings.HasPrefix(dir, ".") || slices.Contains([]string{"testdata", "build", "data", "target", "node_modules"}, dir)
}

func (p *project) add(dir, rel string, guests []string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	f := folder{rel: rel}
	for _, g := range guests {
		if rel == g || strings.HasPrefix(rel, g+"/") {
			f.guest = g
		}
	}
	for _, name := range names {
		s, err := p.parse(name)
		if err != nil {
			return err
		}
		f.files = append(f.files, s)
	}
	p.folders = append(p.folders, f)
	return nil
}

func (p *project) parse(name string) (source, error) {
	f, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(p.root, name)
	if err != nil {
		return source{}, err
	}
	return source{rel: filepath.ToSlash(rel), test: strings.HasSuffix(name, "_test.go"), ast: f}, nil
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	// The nearest go.mod belongs to the main module, because this package is part of it.
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fs.ErrNotExist
		}
		dir = up
	}
}

// tree returns the parsed project or ends the test.
func tree(t *testing.T) *project {
	t.Helper()
	p, err := load()
	if err != nil {
		t.Fatalf("read the project: %v", err)
	}
	return p
}

// read returns a file of the project, or ends the test.
func (p *project) read(t *testing.T, rel string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(rel)))
	if err != nil {
		t.Fatalf("read %s: %v", rel, err)
	}
	return string(b)
}

// main returns the folders of the main module.
func (p *project) main() []folder {
	return slices.DeleteFunc(slices.Clone(p.folders), func(f folder) bool { return f.guest != "" })
}

// has reports whether a folder with Go files exists.
func (p *project) has(rel string) bool {
	return slices.ContainsFunc(p.folders, func(f folder) bool { return f.rel == rel })
}

// at returns the position of a node in a form that editors understand.
func (p *project) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	rel, err := filepath.Rel(p.root, pos.Filename)
	if err != nil {
		rel = pos.Filename
	}
	return filepath.ToSlash(rel) + ":" + strconv.Itoa(pos.Line)
}

// imports returns the paths that a file imports.
func (s source) imports() []*ast.ImportSpec { return s.ast.Imports }

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// ours returns the path below the module's root, if imp is part of it.
func ours(imp string) (string, bool) {
	if imp == modulePath {
		return ".", true
	}
	return strings.CutPrefix(imp, modulePath+"/")
}

// std reports whether imp belongs to the standard library: those paths have no dot in
// their first element.
func std(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// within reports whether rel is dir or below it.
func within(rel, dir string) bool {
	return rel == dir || strings.HasPrefix(rel, dir+"/") || path.Clean(dir) == "."
}
