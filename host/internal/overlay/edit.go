package overlay

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
)

// Edit replaces one piece of a function.
//
// Old and New are Go: an expression, or statements. In Old, _ matches any expression, and
// an empty block or case matches any block or case; the original stays if it is empty in
// New, too. Code that is replaced by false or true, or removed by an empty New, stays in
// the text without being evaluated, so that nothing becomes unused. Exactly one place of
// the function must match Old, apart from spacing and comments.
type Edit struct {
	Func     string // package.function or package.Type.method
	Old, New string
}

// piece is a parsed Old or New.
type piece struct {
	expr  ast.Expr
	stmts []ast.Stmt
}

// parsePiece parses an Old or a New: as an expression, as cases of a switch or else as
// statements.
func parsePiece(text string) (piece, error) {
	if e, err := parser.ParseExpr(text); err == nil {
		return piece{expr: e}, nil
	}
	around := "{\n%s\n}"
	if strings.HasPrefix(text, "case ") {
		around = "switch {\n%s\n}"
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+fmt.Sprintf(around, text)+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return piece{}, fmt.Errorf("parse %q: %w", text, err)
	}
	if s, ok := f.Decls[0].(*ast.FuncDecl).Body.List[0].(*ast.SwitchStmt); ok && around != "{\n%s\n}" {
		return piece{stmts: s.Body.List}, nil
	}
	return piece{stmts: f.Decls[0].(*ast.FuncDecl).Body.List[0].(*ast.BlockStmt).List}, nil
}

// apply edits a function. An expression that statements replace, or that is removed,
// must be a statement of its own.
func (e Edit) apply(fn *ast.FuncDecl) error {
	old, err := parsePiece(e.Old)
	if err != nil {
		return err
	}
	by, err := parsePiece(e.New)
	if err != nil {
		return err
	}
	if old.expr != nil && by.expr == nil {
		old = piece{stmts: []ast.Stmt{&ast.ExprStmt{X: old.expr}}}
	}
	if len(old.stmts) > 1 {
		return fmt.Errorf("in %s: %q is more than one statement", e.Func, e.Old)
	}
	places := 0
	eachPlace(reflect.ValueOf(fn.Body), func(v reflect.Value) {
		if !old.matches(v) {
			return
		}
		places++
		if err == nil {
			err = by.put(v, e.New)
		}
	})
	if places != 1 {
		return fmt.Errorf("%s has %d places that look like %q, not one", e.Func, places, e.Old)
	}
	return err
}

var (
	exprType  = reflect.TypeFor[ast.Expr]()
	stmtType  = reflect.TypeFor[ast.Stmt]()
	blockType = reflect.TypeFor[*ast.BlockStmt]()
)

// eachPlace visits every expression and statement below a node.
func eachPlace(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		inner := v.Elem()
		if v.Type() == exprType || v.Type() == stmtType {
			visit(v)
		}
		eachPlace(inner, visit) // inner is the original, so what visit has put there is not visited
	case reflect.Pointer:
		if !v.IsNil() {
			eachPlace(v.Elem(), visit)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			eachPlace(field, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachPlace(v.Index(i), visit)
		}
	default:
	}
}

// matches reports whether a place matches the piece. A statement without a value matches
// as a statement, not as the expression in it.
func (p piece) matches(place reflect.Value) bool {
	if p.expr != nil {
		return place.Type() == exprType && same(reflect.ValueOf(p.expr), place.Elem())
	}
	return place.Type() == stmtType && same(reflect.ValueOf(p.stmts[0]), place.Elem())
}

// same reports whether node v looks like the pattern p, except for positions. In p, _
// stands for any expression, and an empty block for any block.
func same(p, v reflect.Value) bool {
	if p.Kind() == reflect.Interface {
		p = p.Elem()
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !p.IsValid() || !v.IsValid() {
		return p.IsValid() == v.IsValid()
	}
	if id, ok := reflect.TypeAssert[*ast.Ident](p); ok && id != nil && id.Name == "_" && v.Type().Implements(exprType) {
		return true
	}
	if p.Type() != v.Type() {
		return false
	}
	switch p.Kind() {
	case reflect.Pointer:
		if p.IsNil() || v.IsNil() {
			return p.IsNil() == v.IsNil()
		}
		if p.Type() == blockType && len(p.Interface().(*ast.BlockStmt).List) == 0 {
			return true
		}
		return same(p.Elem(), v.Elem())
	case reflect.Struct:
		return sameFields(p, v)
	case reflect.Slice:
		return p.Len() == v.Len() && allSame(p.Len(), p.Index, v.Index)
	case reflect.Int:
		if p.Type() == reflect.TypeFor[token.Pos]() {
			return (p.Int() == 0) == (v.Int() == 0) // this distinguishes f(x...) from f(x)
		}
		return p.Int() == v.Int()
	default:
		return p.Equal(v)
	}
}

// sameFields compares structs field by field. In the pattern p, a case with an empty
// body stands for one with any body.
func sameFields(p, v reflect.Value) bool {
	if c, ok := reflect.TypeAssert[ast.CaseClause](p); ok && len(c.Body) == 0 {
		return same(p.FieldByName("List"), v.FieldByName("List"))
	}
	return allSame(p.NumField(), p.Field, v.Field)
}

// allSame compares n fields or elements one by one.
func allSame(n int, p, v func(int) reflect.Value) bool {
	for i := range n {
		if !same(p(i), v(i)) {
			return false
		}
	}
	return true
}

// put replaces a place by the piece, whose text is New. Code that is replaced by false
// or true, or removed, stays in the text unevaluated, so that what it names is still
// used.
func (p piece) put(place reflect.Value, text string) error {
	old := place.Interface()
	switch {
	case place.Type() == exprType && text == "false":
		place.Set(reflect.ValueOf(instead("false", token.LAND, old.(ast.Expr))))
	case place.Type() == exprType && text == "true":
		place.Set(reflect.ValueOf(instead("true", token.LOR, old.(ast.Expr))))
	case place.Type() == exprType && p.expr != nil:
		if _, ok := p.expr.(*ast.BinaryExpr); ok {
			p.expr = &ast.ParenExpr{X: p.expr}
		}
		place.Set(reflect.ValueOf(p.expr))
	case place.Type() == exprType:
		return fmt.Errorf("%q takes the place of an expression", text)
	case text == "":
		place.Set(reflect.ValueOf(&ast.IfStmt{Cond: ast.NewIdent("false"), Body: &ast.BlockStmt{List: []ast.Stmt{old.(ast.Stmt)}}}))
	case p.expr != nil:
		place.Set(reflect.ValueOf(&ast.ExprStmt{X: p.expr}))
	case len(p.stmts) == 1:
		keepBlock(p.stmts[0], old.(ast.Stmt))
		place.Set(reflect.ValueOf(p.stmts[0]))
	default:
		place.Set(reflect.ValueOf(&ast.BlockStmt{List: p.stmts}))
	}
	return nil
}

// instead returns a condition that has the value of word, false or true: op never
// evaluates old then.
func instead(word string, op token.Token, old ast.Expr) ast.Expr {
	return &ast.ParenExpr{X: &ast.BinaryExpr{X: ast.NewIdent(word), Op: op, Y: &ast.ParenExpr{X: old}}}
}

// keepBlock keeps the old statement's block if the new one has an empty block.
func keepBlock(by, old ast.Stmt) {
	if b, ok := by.(*ast.CaseClause); ok && len(b.Body) == 0 {
		b.Body = old.(*ast.CaseClause).Body
		return
	}
	b, o := reflect.Indirect(reflect.ValueOf(by)).FieldByName("Body"), reflect.Indirect(reflect.ValueOf(old)).FieldByName("Body")
	if b.IsValid() && o.IsValid() && b.Type() == blockType && len(b.Interface().(*ast.BlockStmt).List) == 0 {
		b.Set(o)
	}
}
