package sandbox

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/tetratelabs/wazero"
)

// checkCompiled holds the machine code that came out of compiling against the
// bounds, before any of it runs: should the estimate ever be too low, or the
// cache hold what another bound let pass, calls might lead out of the code.
func checkCompiled(code wazero.CompiledModule) error {
	m, err := compiledSizeOf(code)
	if err != nil {
		return err
	}
	return m.check()
}

// compiledSize is how much machine code there is.
type compiledSize struct {
	total int   // bytes
	funcs []int // where that of each function begins
}

func (m compiledSize) check() error {
	if m.total <= maxMachineCode {
		return nil
	}
	return &Refusal{
		Reason: TooBig, Problem: fmt.Sprintf("the module became %d bytes of machine code; the limit is %d", m.total, maxMachineCode),
		Hint: "build it optimised for size, or as several modules",
	}
}

// compiledSizeOf looks for it in the engine, which tells nobody. The names are those of
// its own fields; should one of them ever be gone, nothing is compiled any
// more, and every test fails.
func compiledSizeOf(code wazero.CompiledModule) (m compiledSize, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine does not tell how much machine code it made: %v", r)
		}
	}()
	module := reflect.ValueOf(code).Elem()
	engine := module.FieldByName("compiledEngine").Elem().Elem()
	mutex := (*sync.RWMutex)(engine.FieldByName("mux").Addr().UnsafePointer())
	mutex.RLock() // others compile
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
