package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// carriers are functions that draw for their callers, so the caller is the place.
var carriers = []string{
	"(*draws).chance", "(*draws).between", "(*draws).Int64N", "(*draws).IntN", "(*draws).share",
	"(*World).chance", "(*World).between", "(*World).delay", "(*World).lag",
	"(*session).client", "(*session).request", "(*session).show",
}

// places finds the function that draws by the stack, and remembers stacks.
type places map[[8]uintptr]string

// caller returns the innermost function above the tape that is not a carrier. The draws
// of a function literal belong to the function that contains it.
func (p places) caller() string {
	var stack [8]uintptr
	n := runtime.Callers(3, stack[:]) // past Callers, caller and the tape's method
	if name, ok := p[stack]; ok {
		return name
	}
	frames := runtime.CallersFrames(stack[:n])
	for {
		f, more := frames.Next()
		file, ok := functions()[filepath.Base(f.File)]
		if !ok {
			panic("drawn outside of the simulator, by " + f.Function)
		}
		name, carries := file.at(f.Line)
		if !carries {
			p[stack] = name
			return name
		}
		if !more {
			panic("nobody drew but " + name)
		}
	}
}

// text is the position of a function in its file.
type text []extent

type extent struct {
	name     string
	from, to int      // lines
	literals [][2]int // lines of function literals
	carries  bool     // its caller is the place
}

// at returns the function on a line, and whether its caller is the place.
func (t text) at(line int) (string, bool) {
	for _, s := range t {
		if line < s.from || line > s.to {
			continue
		}
		carries := s.carries
		for _, l := range s.literals {
			carries = carries && (line < l[0] || line > l[1])
		}
		return s.name, carries
	}
	return "", false
}

// functions returns the functions of the simulator, by file.
var functions = sync.OnceValue(func() map[string]text {
	files := map[string]text{}
	fset := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		var t text
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				t = append(t, extentOf(fset, d))
			}
		}
		files[e.Name()] = t
	}
	return files
})

func extentOf(fset *token.FileSet, d *ast.FuncDecl) extent {
	lines := func(n ast.Node) [2]int { return [2]int{fset.Position(n.Pos()).Line, fset.Position(n.End()).Line} }
	s := extent{name: d.Name.Name, from: lines(d)[0], to: lines(d)[1]}
	if d.Recv != nil {
		switch t := d.Recv.List[0].Type.(type) {
		case *ast.StarExpr:
			of := t.X
			if generic, ok := of.(*ast.IndexExpr); ok {
				of = generic.X
			}
			s.name = "(*" + of.(*ast.Ident).Name + ")." + s.name
		case *ast.Ident:
			s.name = t.Name + "." + s.name
		}
	}
	s.carries = slices.Contains(carriers, s.name)
	ast.Inspect(d, func(n ast.Node) bool {
		if l, ok := n.(*ast.FuncLit); ok {
			s.literals = append(s.literals, lines(l))
		}
		return true
	})
	return s
}
