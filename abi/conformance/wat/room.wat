;; Reads the name of the job, 11 bytes, into buffers of various sizes. It returns 128 plus
;; the number of the step that failed.
(module
  (import "wasmjob_v1" "ctx_str" (func $str (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "wasmjob_abi_v1"))
  (func $untouched (param $from i32) (param $to i32) (result i32)
    (loop $next
      (if (i32.lt_u (local.get $from) (local.get $to))
        (then
          (if (i32.ne (i32.load8_u (local.get $from)) (i32.const 170)) (then (return (i32.const 0))))
          (local.set $from (i32.add (local.get $from) (i32.const 1)))
          (br $next))))
    i32.const 1)
  (func (export "wasmjob_execute") (result i32)
    (memory.fill (i32.const 0) (i32.const 170) (i32.const 256))
    ;; 1, 2: no room at all, anywhere, the very end of the memory included
    (if (i32.ne (call $str (i32.const 1) (i32.const 0) (i32.const 0)) (i32.const 11)) (then (return (i32.const 129))))
    (if (i32.ne (call $str (i32.const 1) (i32.const 65536) (i32.const 0)) (i32.const 11)) (then (return (i32.const 130))))
    ;; 3, 4: one byte too few writes nothing
    (if (i32.ne (call $str (i32.const 1) (i32.const 16) (i32.const 10)) (i32.const 11)) (then (return (i32.const 131))))
    (if (i32.eqz (call $untouched (i32.const 0) (i32.const 256))) (then (return (i32.const 132))))
    ;; 5, 6, 7: exactly enough writes that much and no more
    (if (i32.ne (call $str (i32.const 1) (i32.const 16) (i32.const 11)) (i32.const 11)) (then (return (i32.const 133))))
    (if (i32.ne (i32.load8_u (i32.const 16)) (i32.const 99)) (then (return (i32.const 134))))
    (if (i32.eqz (call $untouched (i32.const 27) (i32.const 256))) (then (return (i32.const 135))))
    ;; 8, 9: more than enough, too
    (if (i32.ne (call $str (i32.const 1) (i32.const 64) (i32.const 100)) (i32.const 11)) (then (return (i32.const 136))))
    (if (i32.eqz (call $untouched (i32.const 75) (i32.const 256))) (then (return (i32.const 137))))
    ;; 10: the last bytes of the memory
    (if (i32.ne (call $str (i32.const 1) (i32.const 65525) (i32.const 11)) (i32.const 11)) (then (return (i32.const 138))))
    i32.const 0))
