package meter

// graph finds cycles of calls: the strongly connected components of the call graph,
// by Tarjan's algorithm. One node represents all tables: every indirect call leads
// to it, and it leads to every function whose reference exists.
type graph struct {
	m            *module
	tables       int     // the node of all tables
	addressTaken []int   // functions that the node of all tables leads to
	index        []int32 // order of visits, from 1; 0: not visited
	lowlink      []int32 // lowest index that a node leads back to
	component    []int32 // index of the component's first node; 0: unknown
	count        int32
	path         []visit
	stack        []int // visited nodes whose component is unknown

	checksAtEntry []bool // functions that check the balance early in each call
	uncheckedCost []int  // most cost of a call before a check
}

// visit is a node on the path of the search and the number of its next successor.
type visit struct{ node, next int }

// newGraph returns the graph of all calls, of which no node was visited yet. Node i is the
// function of funcInfos[i].
func newGraph(m *module) *graph {
	n := len(m.funcInfos)
	g := &graph{
		m: m, tables: n, index: make([]int32, n+1), lowlink: make([]int32, n+1), component: make([]int32, n+1),
		checksAtEntry: make([]bool, n), uncheckedCost: make([]int, n),
	}
	for f, taken := range m.addressTaken[m.Imported:] {
		if taken {
			g.addressTaken = append(g.addressTaken, f)
		}
	}
	return g
}

// findComponents visits all functions. It places the checks of functions before
// those of their callers.
func (g *graph) findComponents() {
	for f := range g.m.funcInfos {
		if g.index[f] == 0 {
			g.visitNode(f)
		}
		for len(g.path) > 0 {
			g.visitNext()
		}
	}
}

// visitNode begins the visit of a node.
func (g *graph) visitNode(node int) {
	g.count++
	g.index[node], g.lowlink[node] = g.count, g.count
	g.path = append(g.path, visit{node: node})
	g.stack = append(g.stack, node)
}

// visitNext goes to the next successor of the last node on the path, or ends the visit of
// that node if it has no more. It does not call itself, because a chain of calls may be as
// long as the module has functions.
func (g *graph) visitNext() {
	v := &g.path[len(g.path)-1]
	node := v.node
	if to, ok := g.successor(node, v.next); ok {
		v.next++
		if g.index[to] == 0 {
			g.visitNode(to)
		} else if g.component[to] == 0 {
			g.lowlink[node] = min(g.lowlink[node], g.index[to])
		}
		return
	}
	g.path = g.path[:len(g.path)-1]
	if len(g.path) > 0 {
		up := g.path[len(g.path)-1].node
		g.lowlink[up] = min(g.lowlink[up], g.lowlink[node])
	}
	if g.lowlink[node] == g.index[node] {
		g.closeComponent(node)
	}
}

// successor returns the i-th successor of a node.
func (g *graph) successor(node, i int) (int, bool) {
	if node == g.tables {
		if i < len(g.addressTaken) {
			return g.addressTaken[i], true
		}
		return 0, false
	}
	if calls := g.m.callsOf(node); i < len(calls) {
		return g.callee(calls[i]), true
	}
	return 0, false
}

// callee returns the node that a call leads to.
func (g *graph) callee(c callSite) int {
	if c.callee == unknown {
		return g.tables
	}
	return int(c.callee)
}

// closeComponent removes the component of a node from the stack, and places the checks of
// its functions. All functions that they call outside of the component have theirs.
func (g *graph) closeComponent(node int) {
	from := len(g.stack) - 1
	for g.stack[from] != node {
		from--
	}
	nodes := g.stack[from:]
	g.stack = g.stack[:from]
	for _, n := range nodes {
		g.component[n] = g.index[node]
	}
	for _, n := range nodes {
		if n != g.tables {
			g.placeChecks(n)
		}
	}
}
