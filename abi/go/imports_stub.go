//go:build !wasip1

package wasmjob

import "unsafe"

// Without a host every question is answered as one that knows nothing would;
// tests use Fake instead.

func importCtxStr(int32, unsafe.Pointer, int32) int32 { return errUnknownField }

func importCtxInt(int32) int64 { return noInt }

func importCtxJSON(unsafe.Pointer, int32) int32 { return errUnknownField }

func importConfigGet(unsafe.Pointer, int32, unsafe.Pointer, int32) int32 { return errNotFound }

func importLog(int32, unsafe.Pointer, int32) {}

func importLogLevel() int32 { return int32(levelNone) }

func importResultSet(unsafe.Pointer, int32) int32 { return errInternal }

func importErrorSet(unsafe.Pointer, int32) int32 { return errInternal }

func importCancelled() int32 { return int32(Continue) }

func importProgress(int64, int64) {}
