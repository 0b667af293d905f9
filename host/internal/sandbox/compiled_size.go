package sandbox

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/tetratelabs/wazero"
)

// checkCompiled checks the size of the generated machine code before any of it runs.
// Beyond the limit, calls might jump to wrong addresses; the estimate may be too
// low, or the cache may contain code that another limit accepted.
func checkCompiled(code wazero.CompiledModule) error {
	m, err := compiledSizeOf(code)
	if err != nil {
		return err
	}
	return m.check()
}

// compiledSize is the size of the machine code of a module.
type compiledSize struct {
	total int   // bytes
	funcs []int // offset of each function
}

// check refuses a module with too much machine code.
func (m compiledSize) check() error {
	if m.total <= maxMachineCode {
		return nil
	}
	return &Refusal{
		Reason: TooBig, Problem: fmt.Sprintf("the module became %d bytes of machine code; the limit is %d", m.total, maxMachineCode),
		Hint: "build it optimised for size, or split it into several smaller modules",
	}
}

// compiledSizeOf reads the size from private fields of the engine, which has no API
// for it. If a field is gone, no module can be compiled and every test fails.
func compiledSizeOf(code wazero.CompiledModule) (m compiledSize, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot read the size of the machine code from the engine: %v", r)
		}
	}()
	module := reflect.ValueOf(code).Elem()
	engine := module.FieldByName("compiledEngine").Elem().Elem()
	mutex := (*sync.RWMutex)(engine.FieldByName("mux").Addr().UnsafePointer())
	mutex.RLock() // other goroutines compile
	defer mutex.RUnlock()
	counted := engine.FieldByName("compiledModules").MapIndex(module.FieldByName("module").Elem().FieldByName("ID"))
	compiled := counted.Elem().FieldByName("compiledModule").Elem()
	executables := compiled.FieldByName("executables").Elem()
	m.total = executables.FieldByName("executable").Len() + executables.FieldByName("entryPreambles").Len()
	offsets := compiled.FieldByName("functionOffsets")
	for i := range offsets.Len() {
		m.funcs = append(m.funcs, int(offsets.Index(i).Int()))
	}
	return m, nil
}
