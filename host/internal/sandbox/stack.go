package sandbox

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero/api"
)

const (
	// stackSize is the depth of a guest's call stack, in bytes, similar to that of a
	// Java thread or of V8. It is reserved before the guest runs, because the host
	// is not called when the stack grows.
	stackSize = 1 << 20
	// stackSpan is the address space of a stack. The engine doubles a stack that is
	// full and smaller than 50 million bytes; above that it ends the guest. Only the
	// highest stackSize bytes are ever used.
	stackSpan = 48 << 20
	// keptStackBytes is the memory that an unused stack keeps.
	keptStackBytes = 64 << 10
	// keptStacks is how many unused stacks are kept. Every discardEvery-th return
	// gives back the pages of deep calls: a system call for each return would make a
	// run of a small guest a quarter slower.
	keptStacks, discardEvery = 16, 16
)

// stacks are the unused stacks of the engine. By itself the engine would allocate a
// stack of 10 KiB for each called function, and copy it to one of twice the size
// when it is full, up to 50 MB: 170 MB with garbage. It does not ask the host before
// that. Therefore the host provides stacks that never have to grow.
type stacks struct {
	mu       sync.Mutex // guards the fields below
	free     [][]byte
	returned int
}

// takeStack returns an unused stack, or reserves a new one.
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

// returnStack takes back a stack.
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

// deepPart returns the part of a stack that only deep calls use. Calls begin at the upper
// end, where every guest uses the last keptStackBytes.
func deepPart(stack []byte) []byte { return stack[stackSpan-stackSize : stackSpan-keptStackBytes] }

// evict gives back the memory of unused stacks.
func (s *stacks) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stack := range s.free {
		discardPages(deepPart(stack))
	}
}

// close frees unused stacks.
func (s *stacks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stack := range s.free {
		unmap(stack)
	}
	s.free = nil
}

// exportedFunc is an exported function with pointers to the engine's fields for its
// stack. They are nil with the interpreter, which limits calls to 2,000.
type exportedFunc struct {
	api.Function
	stack  *[]byte
	top    *uintptr // highest address, a multiple of 16
	bottom **byte   // lowest usable address
}

// exportedFuncOf finds the fields for the stack in the engine.
func exportedFuncOf(f api.Function) *exportedFunc {
	engine := reflect.Indirect(reflect.ValueOf(f))
	context := engine.FieldByName("execCtx")
	if !context.IsValid() { // the interpreter has no such fields
		return &exportedFunc{Function: f}
	}
	return &exportedFunc{
		f,
		fieldAddress[[]byte](engine.FieldByName("stack")),
		fieldAddress[uintptr](engine.FieldByName("stackTop")),
		fieldAddress[*byte](context.FieldByName("stackBottomPtr")),
	}
}

// fieldAddress returns the address of a field of the engine. It panics if the type
// has changed, which fails every test.
func fieldAddress[T any](field reflect.Value) *T {
	if field.Type() != reflect.TypeFor[T]() {
		panic("the engine has changed: its stack is a " + field.Type().String())
	}
	return (*T)(unsafe.Pointer(field.UnsafeAddr())) //nolint:gosec // the type was checked
}

// useStack makes the next call use a stack. It begins at the upper end, and grows
// downwards by stackSize at most.
func (e *exportedFunc) useStack(stack []byte) {
	if e.stack == nil {
		return
	}
	*e.stack = stack
	*e.top = uintptr(unsafe.Pointer(&stack[stackSpan-16])) &^ 15 //nolint:gosec // the engine stores it as a number
	*e.bottom = &stack[stackSpan-stackSize]
}
