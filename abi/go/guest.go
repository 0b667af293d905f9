package wasmjob

import "unsafe"

// guest is the host as a module sees it. The buffers stay where they are
// during a call, and the host keeps none of the pointers after it.
type guest struct{}

func at(b []byte) (unsafe.Pointer, int32) {
	return unsafe.Pointer(unsafe.SliceData(b)), int32(len(b))
}

func atText(s string) (unsafe.Pointer, int32) {
	return unsafe.Pointer(unsafe.StringData(s)), int32(len(s))
}

func (guest) ctxStr(field int32, buf []byte) int32 {
	p, n := at(buf)
	return importCtxStr(field, p, n)
}

func (guest) ctxInt(field int32) int64 { return importCtxInt(field) }

func (guest) ctxJSON(buf []byte) int32 {
	p, n := at(buf)
	return importCtxJSON(p, n)
}

func (guest) configGet(key string, buf []byte) int32 {
	k, kn := atText(key)
	p, n := at(buf)
	return importConfigGet(k, kn, p, n)
}

func (guest) log(level int32, msg string) {
	p, n := atText(msg)
	importLog(level, p, n)
}

func (guest) logLevel() int32 { return importLogLevel() }

func (guest) resultSet(b []byte) int32 {
	p, n := at(b)
	return importResultSet(p, n)
}

func (guest) errorSet(msg string) int32 {
	p, n := atText(msg)
	return importErrorSet(p, n)
}

func (guest) cancelled() int32 { return importCancelled() }

func (guest) progress(done, total int64) { importProgress(done, total) }
