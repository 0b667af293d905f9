package meter

// graph finds the cycles of calls: the strongly connected components, by
// Tarjan's algorithm. One node stands for all tables: whoever calls indirectly
// leads to it, and it leads to every function that a reference may be had of.
type graph struct {
	m      *module
	tables int     // the node
	taken  []int   // functions that it leads to
	order  []int32 // when a node was come to, from 1
	low    []int32 // the lowest such number that it leads back to
	group  []int32 // by which node its component was come to; 0: not known yet
	count  int32
	path   []visit
	open   []int // nodes that were come to, and whose component is not known yet

	entry   []bool // functions that look at the balance in each call, soon
	stretch []int  // what a call of others may cost before something looks
}

// visit is a node on the path of the search, and which of its ways comes next.
type visit struct{ node, next int }

func newGraph(m *module) *graph {
	n := len(m.all)
	g := &graph{
		m: m, tables: n, order: make([]int32, n+1), low: make([]int32, n+1), group: make([]int32, n+1),
		entry: make([]bool, n), stretch: make([]int, n),
	}
	for f, taken := range m.taken[m.Imported:] {
		if taken {
			g.taken = append(g.taken, f)
		}
	}
	return g
}

// search comes to all functions, and decides of those that are called before
// it does of their callers.
func (g *graph) search() {
	for f := range g.m.all {
		if g.order[f] == 0 {
			g.enter(f)
		}
		for len(g.path) > 0 {
			g.step()
		}
	}
}

func (g *graph) enter(node int) {
	g.count++
	g.order[node], g.low[node] = g.count, g.count
	g.path = append(g.path, visit{node: node})
	g.open = append(g.open, node)
}

func (g *graph) step() {
	v := &g.path[len(g.path)-1]
	node := v.node
	if to, ok := g.way(node, v.next); ok {
		v.next++
		if g.order[to] == 0 {
			g.enter(to)
		} else if g.group[to] == 0 {
			g.low[node] = min(g.low[node], g.order[to])
		}
		return
	}
	g.path = g.path[:len(g.path)-1]
	if len(g.path) > 0 {
		up := g.path[len(g.path)-1].node
		g.low[up] = min(g.low[up], g.low[node])
	}
	if g.low[node] == g.order[node] {
		g.close(node)
	}
}

// way is where a node leads to.
func (g *graph) way(node, i int) (int, bool) {
	if node == g.tables {
		if i < len(g.taken) {
			return g.taken[i], true
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

// close takes the component of a node from those that are open.
func (g *graph) close(node int) {
	from := len(g.open) - 1
	for g.open[from] != node {
		from--
	}
	nodes := g.open[from:]
	g.open = g.open[:from]
	for _, n := range nodes {
		g.group[n] = g.order[node]
	}
	for _, n := range nodes {
		if n != g.tables {
			g.decide(n)
		}
	}
}
