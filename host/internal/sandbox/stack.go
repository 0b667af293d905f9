package sandbox

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero/api"
)

const (
	// stackSize is how deep the calls of a guest may nest, in bytes: as deep as
	// those of a Java thread or of JavaScript in V8. It is set aside before the
	// guest runs, as nothing asks the host when a guest goes deeper.
	stackSize = 1 << 20
	// stackSpan is the address space of a stack. The engine doubles a stack that
	// is used up and has fewer than 50 million bytes; it ends the guest if there
	// are more. Below stackSize nothing is ever touched.
	stackSpan = 48 << 20
	// keptStackBytes is what a stack keeps of its memory for good.
	keptStackBytes = 64 << 10
	// keptStacks is how many stacks are kept for other runs, and forgetStack how
	// many returns it takes until one gives back what deep calls have touched: to
	// ask the system each time would take a run of a small guest a quarter longer.
	keptStacks, discardEvery = 16, 16
)

// stacks are those of the engine that no run uses. By itself the engine makes a
// stack of 10 KiB for each function that is called, and copies it into one of
// twice the size whenever it is used up, until it has more than 50 MB: some 170 MB
// with what the collector has yet to find. It asks nobody. So it gets stacks that
// it never has to make larger.
type stacks struct {
	mu       sync.Mutex // guards what follows
	free     [][]byte
	returned int
}

// takeStack gives a stack to a run.
func (s *stacks) takeStack() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		stack := s.free[n-1]
		s.free = s.free[:n-1]
		return stack, nil
	}
	return reserve(stackSpan)
}

// returnStack takes a stack back.
func (s *stacks) returnStack(stack []byte) {
	if stack == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == keptStacks {
		unmap(stack)
		return
	}
	s.free = append(s.free, stack)
	if s.returned++; s.returned%discardEvery == 0 {
		discardPages(deepPart(stack))
	}
}

// deepPart is what of a stack is not kept for good.
func deepPart(stack []byte) []byte { return stack[stackSpan-stackSize : stackSpan-keptStackBytes] }

// evict gives back what the stacks that nobody uses have, as memory is short.
func (s *stacks) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stack := range s.free {
		discardPages(deepPart(stack))
	}
}

// close frees the stacks that nobody uses.
func (s *stacks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stack := range s.free {
		unmap(stack)
	}
	s.free = nil
}

// exportedFunc is an export that is called, with the places in the engine that say
// where its stack is. They are nil where the engine interprets: then it bounds
// calls to 2,000.
type exportedFunc struct {
	api.Function
	stack  *[]byte
	top    *uintptr // the highest address, a multiple of 16
	bottom **byte   // calls that need more than down to here use up the stack
}

// exportedFuncOf looks for the stack in the engine.
func exportedFuncOf(f api.Function) *exportedFunc {
	engine := reflect.Indirect(reflect.ValueOf(f))
	context := engine.FieldByName("execCtx")
	if !context.IsValid() {
		return &exportedFunc{Function: f}
	}
	return &exportedFunc{
		f,
		fieldAddress[[]byte](engine.FieldByName("stack")),
		fieldAddress[uintptr](engine.FieldByName("stackTop")),
		fieldAddress[*byte](context.FieldByName("stackBottomPtr")),
	}
}

// fieldAddress is where a field of the engine is. If the engine has none of that name
// and type, every test panics.
func fieldAddress[T any](field reflect.Value) *T {
	if field.Type() != reflect.TypeFor[T]() {
		panic("the engine has changed: its stack is a " + field.Type().String())
	}
	return (*T)(unsafe.Pointer(field.UnsafeAddr())) //nolint:gosec // the type was compared
}

// useStack has the next call run on a stack.
func (e *exportedFunc) useStack(stack []byte) {
	if e.stack == nil {
		return
	}
	*e.stack = stack
	*e.top = uintptr(unsafe.Pointer(&stack[stackSpan-16])) &^ 15 //nolint:gosec // the engine has it as a number
	*e.bottom = &stack[stackSpan-stackSize]
}
