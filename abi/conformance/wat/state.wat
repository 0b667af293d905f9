;; Sets "a" to "1", reads it back, and ends as its item selects: 0 with success, 1 with a
;; failure, 2 with a trap, 3 with "nothing to do", 4 with a request for another attempt.
(module
  (import "wasmjob_v1" "ctx_int" (func $int (param i32) (result i64)))
  (import "wasmjob_v1" "state_get" (func $get (param i32 i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "state_set" (func $set (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "a1")
  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (if (call $set (i32.const 0) (i32.const 1) (i32.const 1) (i32.const 1)) (then (return (i32.const 129))))
    (if (i32.ne (call $get (i32.const 0) (i32.const 1) (i32.const 16) (i32.const 8)) (i32.const 1)) (then (return (i32.const 130))))
    (if (i32.ne (i32.load8_u (i32.const 16)) (i32.const 49)) (then (return (i32.const 131))))
    block $4 block $3 block $2 block $1 block $0
      (br_table $0 $1 $2 $3 $4 (i32.wrap_i64 (call $int (i32.const 101))))
    end (return (i32.const 0))
    end (return (i32.const 1))
    end unreachable
    end (return (i32.const 3))
    end (return (i32.const 2))))
