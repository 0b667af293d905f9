package meter

// graph finds the cycles of calls: the strongly connected components, by
// Tarjan's algorithm. One node stands for all tables: whoever calls indirectly
// leads to it, and it leads to every function that a reference may be had of.
type graph struct {
	m            *module
	tables       int     // the node
	addressTaken []int   // functions that it leads to
	index        []int32 // when a node was come to, from 1
	lowlink      []int32 // the lowest such number that it leads back to
	component    []int32 // by which node its component was come to; 0: not known yet
	count        int32
	path         []visit
	stack        []int // nodes that were come to, and whose component is not known yet

	checksAtEntry []bool // functions that look at the balance in each call, soon
	uncheckedCost []int  // what a call of others may cost before something looks
}

// visit is a node on the path of the search, and which of its ways comes next.
type visit struct{ node, next int }

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

// findComponents comes to all functions, and decides of those that are called before
// it does of their callers.
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

func (g *graph) visitNode(node int) {
	g.count++
	g.index[node], g.lowlink[node] = g.count, g.count
	g.path = append(g.path, visit{node: node})
	g.stack = append(g.stack, node)
}

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

// successor is where a node leads to.
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

func (g *graph) callee(c callSite) int {
	if c.callee == unknown {
		return g.tables
	}
	return int(c.callee)
}

// closeComponent takes the component of a node from those that are open.
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
