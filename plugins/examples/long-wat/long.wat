;; An item that takes its time: as many seconds as the parameter of the item says,
;; one by one. It tells when it begins, that it is still at it, and that it is
;; through, in the log and, if a directory is granted, in the file "diary" there:
;; lines of a word, the id of the run and that of the server. Asked to stop it says so and fails.
;;
;;   wat2wasm long.wat -o long.wasm
(module
  (import "wasmjob_v1" "log" (func $log (param i32 i32 i32)))
  (import "wasmjob_v1" "ctx_str" (func $ctx_str (param i32 i32 i32) (result i32)))
  (import "wasmjob_v1" "sleep_ms" (func $sleep_ms (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "diary")
  (data (i32.const 16) "begins")
  (data (i32.const 32) "goes on")
  (data (i32.const 48) "is through")
  (data (i32.const 64) "stops")
  ;; 128: what came back; 136: where the text to write is, and how long; 1024: texts.
  (global $file (mut i32) (i32.const -1))

  ;; Writes a blank and a field of the context to an address, and gives the one
  ;; behind it. What does not fit is left out.
  (func $add (param $field i32) (param $at i32) (result i32)
    (local $length i32)
    (i32.store8 (local.get $at) (i32.const 32))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (local.set $length (call $ctx_str (local.get $field) (local.get $at) (i32.const 1024)))
    (if (i32.gt_u (local.get $length) (i32.const 1024)) (then (return (local.get $at))))
    (i32.add (local.get $at) (local.get $length)))

  ;; Logs a word, and adds "word run server\n" to the diary: in one piece, so that
  ;; lines of several servers do not mix.
  (func $tell (param $word i32) (param $length i32)
    (local $end i32)
    (call $log (i32.const 2) (local.get $word) (local.get $length)) ;; 2: info
    (if (i32.lt_s (global.get $file) (i32.const 0)) (then return))
    (memory.copy (i32.const 1024) (local.get $word) (local.get $length))
    (local.set $end (i32.add (i32.const 1024) (local.get $length)))
    (local.set $end (call $add (i32.const 5) (call $add (i32.const 9) (local.get $end))))
    (i32.store8 (local.get $end) (i32.const 10))
    (i32.store (i32.const 136) (i32.const 1024))
    (i32.store (i32.const 140) (i32.sub (i32.add (local.get $end) (i32.const 1)) (i32.const 1024)))
    (drop (call $write (global.get $file) (i32.const 136) (i32.const 1) (i32.const 128))))

  ;; The parameter of the item as a number; what is no digit counts as 0.
  (func $seconds (result i32)
    (local $length i32) (local $i i32) (local $n i32) (local $digit i32)
    (local.set $length (call $ctx_str (i32.const 4) (i32.const 1024) (i32.const 8)))
    (if (i32.gt_u (local.get $length) (i32.const 8)) (then (return (i32.const 0))))
    (block $end (loop $next
      (br_if $end (i32.ge_u (local.get $i) (local.get $length)))
      (local.set $digit (i32.sub (i32.load8_u (i32.add (i32.const 1024) (local.get $i))) (i32.const 48)))
      (if (i32.lt_u (local.get $digit) (i32.const 10))
        (then (local.set $n (i32.add (i32.mul (local.get $n) (i32.const 10)) (local.get $digit)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    local.get $n)

  (func (export "wasmjob_abi_v1"))
  (func (export "wasmjob_execute") (result i32)
    (local $left i32)
    ;; Below the first directory: follow links; create; write; append.
    (if (i32.eqz (call $open (i32.const 3) (i32.const 1) (i32.const 0) (i32.const 5)
          (i32.const 1) (i64.const 64) (i64.const 0) (i32.const 1) (i32.const 128)))
      (then (global.set $file (i32.load (i32.const 128)))))
    (local.set $left (call $seconds))
    (call $tell (i32.const 16) (i32.const 6))
    (block $through (loop $again
      (br_if $through (i32.le_s (local.get $left) (i32.const 0)))
      (if (call $sleep_ms (i32.const 1000))
        (then
          (call $tell (i32.const 64) (i32.const 5))
          (return (i32.const 1)))) ;; failed
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (call $tell (i32.const 32) (i32.const 7))
      (br $again)))
    (call $tell (i32.const 48) (i32.const 10))
    i32.const 0)) ;; 0: done
