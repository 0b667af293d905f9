package meter

import "unsafe"

// segment is straight-line code with one payment at its begin: if one of its
// instructions runs, all run.
type segment struct {
	offset         int32 // offset in module.raw of its payment
	parent         int32 // the segment that leads here and runs at least as often; or noSegment
	price          int32 // of its instructions, and payments moved here
	extra          int32 // payments for small segments that it leads to
	callees        int32 // payments for first segments of functions that it calls
	bulk           int32 // maximum cost of inline filling and copying
	loop           int32 // innermost loop around it: index in walk.loops
	callsBefore    int32 // number of calls in module.calls before it
	priceSinceCall int32 // price of the code after its first call
	calls          uint8
	check          balanceCheck
	paidElsewhere  bool // other segments pay for it
	closesCycle    bool // it has a call that closes a cycle
	repeats        bool // in a loop that repeats
	balanceInLocal bool // the balance is also in a local
	loadsBalance   bool // it only loads the balance into the local
}

const noSegment = -1

// balanceCheck is how a segment checks the balance before it pays.
type balanceCheck uint8

const (
	checkNone balanceCheck = iota
	checkLoop              // in a loop of its own
	checkHead              // as part of the loop whose head it is
)

// Limits of a segment, after which the next one begins.
const (
	maxSegment = 8 << 10 // price
	maxCalls   = 32
)

func (s *segment) full() bool { return s.price > maxSegment || s.calls > maxCalls }

// callSite is a direct call of a function of this module, or an indirect call.
type callSite struct {
	segment, callee int32
	end             int32 // offset in module.raw after the call
	check           bool  // check the balance there
}

// unknown is the callee of an indirect call.
const unknown = -1

// loop is a loop that repeats.
type loop struct {
	before    int   // segment in which it begins
	head      int   // segment that it begins with
	backJumps []int // segments that end with a jump back
}

// function is an analyzed function: its code in module.raw, and the first and the end
// of its entries in other lists.
type function struct {
	from, code, to         int // offsets of locals, instructions and end
	segments, calls, loops int

	segmentsEnd, callsEnd, loopsEnd int

	groups, locals int  // groups of locals; locals including parameters
	needsLength    bool // needs a local for the length of a bulk operation
	needsBalance   bool // needs a local for the balance
}

// analysis is the result of the walk through all functions.
type analysis struct {
	raw       []byte // code without payments
	segments  []segment
	calls     []callSite
	loops     []loop
	backJumps int // of all loops
	funcInfos []function
}

// perFunction is how many bytes a function takes beside its code: in funcInfos and in the graph.
const perFunction = uint64(unsafe.Sizeof(function{})) + 24

// bytes returns roughly how much memory the analysis takes.
func (w *analysis) bytes() uint64 {
	return uint64(len(w.raw)) + uint64(len(w.segments))*uint64(unsafe.Sizeof(segment{})) +
		uint64(len(w.calls))*uint64(unsafe.Sizeof(callSite{})) + uint64(len(w.loops))*uint64(unsafe.Sizeof(loop{})) +
		uint64(w.backJumps)*uint64(unsafe.Sizeof(0)) + uint64(cap(w.funcInfos))*perFunction
}

func (w *analysis) segmentsOf(f int) []segment {
	return w.segments[w.funcInfos[f].segments:w.funcInfos[f].segmentsEnd]
}

func (w *analysis) callsOf(f int) []callSite {
	return w.calls[w.funcInfos[f].calls:w.funcInfos[f].callsEnd]
}

func (w *analysis) loopsOf(f int) []loop {
	return w.loops[w.funcInfos[f].loops:w.funcInfos[f].loopsEnd]
}

// maxGathered is the maximum price of a segment that another one pays for.
const maxGathered = 8

// gather moves the payments of small segments to the segments that lead to them,
// even if flow may not reach them, because paying would take longer than running
// them. A segment pays at most its own price in addition, and no path becomes
// cheaper.
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
		// The segment costs at most as much as its parent, so it at most doubles what is paid.
		if s.check == checkNone && s.calls == 0 && s.price <= maxGathered && p.extra+s.price <= min(p.price, maxReturned) {
			p.extra += s.price
			s.price, s.paidElsewhere = 0, true
		}
	}
}
