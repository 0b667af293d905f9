package meter

// segment is a stretch of code with one payment, at its begin: whoever comes
// to one of its instructions comes to all of them.
type segment struct {
	offset         int32 // where in module.raw its payment belongs
	parent         int32 // the segment that leads here, and runs at least as often; noSegment: none
	price          int32 // of its own instructions, and of what was moved here
	extra          int32 // what it pays for smaller ones that it leads to
	callees        int32 // what it pays for the first segments of functions that it calls
	bulk           int32 // what filling and copying may cost in it, beside its price
	loop           int32 // the innermost loop around it: which of walk.cycles
	callsBefore    int32 // how many calls there were in module.calls
	priceSinceCall int32 // price behind the first of those in it
	calls          uint8
	check          balanceCheck
	paidElsewhere  bool // its price, to those who come before
	closesCycle    bool // a cycle of calls
	repeats        bool // in a loop that goes round, so the head of that was come to before
	balanceInLocal bool // the balance is also in a local
	loadsBalance   bool // the balance is put there here; nothing else is done
}

const noSegment = -1

// balanceCheck is how a segment looks at the balance before it pays.
type balanceCheck uint8

const (
	checkNone balanceCheck = iota
	checkLoop              // in a loop of its own
	checkHead              // as part of the loop that it is the head of
)

// What makes a segment so large that the next one begins.
const (
	maxSegment = 8 << 10 // its price
	maxCalls   = 32
)

func (s *segment) full() bool { return s.price > maxSegment || s.calls > maxCalls }

// callSite is a call of a function of this module, or an indirect one.
type callSite struct {
	segment, callee int32
	end             int32 // where in module.raw what follows begins
	check           bool  // at the balance, there
}

// unknown is the callee of an indirect call.
const unknown = -1

// loop is one that goes round.
type loop struct {
	before    int   // segment in which it stands
	head      int   // segment that it begins with
	backJumps []int // segments that end with a jump back
}

// function is a function that the walk has passed through: its code in
// module.raw, and where its parts of other lists begin.
type function struct {
	from, code, to         int // the locals, the instructions, and their end
	segments, calls, loops int
	groups, locals         int  // of locals, and how many there are with the parameters
	needsLength            bool // one more has the length of what is filled or copied
	needsBalance           bool // one more has the balance
}

// analysis is what is known of all functions.
type analysis struct {
	raw       []byte // their code without payments
	segments  []segment
	calls     []callSite
	loops     []loop
	funcInfos []function
}

// nextStart is where the next function begins, of the list of which this is the end.
func nextStart(w *analysis, f, end int, begin func(*function) int) int {
	if f+1 < len(w.funcInfos) {
		return begin(&w.funcInfos[f+1])
	}
	return end
}

func (w *analysis) segmentsOf(f int) []segment {
	return w.segments[w.funcInfos[f].segments:nextStart(w, f, len(w.segments), func(f *function) int { return f.segments })]
}

func (w *analysis) callsOf(f int) []callSite {
	return w.calls[w.funcInfos[f].calls:nextStart(w, f, len(w.calls), func(f *function) int { return f.calls })]
}

func (w *analysis) loopsOf(f int) []loop {
	return w.loops[w.funcInfos[f].loops:nextStart(w, f, len(w.loops), func(f *function) int { return f.loops })]
}

// maxGathered is what a segment may cost that another one pays for.
const maxGathered = 8

// gather has small segments paid by those that lead to them, whether they are
// then come to or not, as a payment would take longer than they do. What a
// segment pays so is never more than its own price, and nothing becomes cheaper.
func gather(segments []segment, from int) {
	for i := from; i < len(segments); i++ {
		s := &segments[i]
		if s.parent == noSegment {
			continue
		}
		p := &segments[s.parent]
		if p.paidElsewhere && p.parent != noSegment { // was gathered itself
			s.parent = p.parent
			p = &segments[s.parent]
		}
		if s.check == checkNone && s.calls == 0 && s.price <= maxGathered && p.extra+s.price <= min(p.price, maxReturned) {
			p.extra += s.price
			s.price, s.paidElsewhere = 0, true
		}
	}
}
