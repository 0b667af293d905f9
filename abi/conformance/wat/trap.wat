;; Traps in the way that its item selects: unreachable, a division by zero, an address
;; beyond the memory, a call of a null reference.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (type $none (func))
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    block $3 block $2 block $1 block $0
      (br_table $0 $1 $2 $3 (i32.wrap_i64 (call $int (i32.const 101))))
    end unreachable
    end (return (i32.div_u (i32.const 1) (i32.const 0)))
    end (return (i32.load (i32.const 65536)))
    end (call_indirect (type $none) (i32.const 0))
    i32.const 0))
