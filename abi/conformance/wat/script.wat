;; A script that writes its last argument to stdout and exits with a code selected by the
;; first letter of its first argument (0 if there is none).
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (local $n i32) (local $size i32) (local $last i32)
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (local.set $n (i32.load (i32.const 0)))
    (local.set $size (i32.load (i32.const 4)))
    (drop (call $args (i32.const 64) (i32.const 1024)))
    ;; the last argument goes from its pointer to the end of all, without the zero
    (local.set $last (i32.load (i32.add (i32.const 64) (i32.mul (i32.sub (local.get $n) (i32.const 1)) (i32.const 4)))))
    (i32.store (i32.const 16) (local.get $last))
    (i32.store (i32.const 20) (i32.sub (i32.sub (i32.add (i32.const 1024) (local.get $size)) (local.get $last)) (i32.const 1)))
    (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 32)))
    (call $exit (i32.sub (i32.load8_u (i32.load (i32.const 68))) (i32.const 48)))))
