package wasmjob

// host is implemented by the real host in a module, and by Fake in a test. It has a
// method for each function of the contract. A read returns the full length of the value
// and fills the buffer only if the value fits; a negative result is an error code.
//
// Linkers follow calls through an interface method by method, so a module imports only
// the functions that its author uses.
type host interface {
	ctxStr(field int32, buf []byte) int32
	ctxInt(field int32) int64
	ctxJSON(buf []byte) int32
	configGet(key string, buf []byte) int32
	log(level int32, msg string)
	logLevel() int32
	resultSet(b []byte) int32
	errorSet(msg string) int32
	cancelled() int32
	progress(done, total int64)
	metricAdd(name string, value float64) int32
	sleep(ms int32) int32

	now() int64
	random(buf []byte) int32

	batchAdd(element []byte) int32
	batchCount() int32
	batchRead(index int32, buf []byte) int32
	batchAck(index, outcome int32) int32

	stateGet(key string, buf []byte) int32
	stateSet(key string, value []byte) int32
	stateDelete(key string) int32

	secretGet(name string, buf []byte) int32

	httpRequest(request []byte) int32
	httpStatus(handle int32) int32
	httpHeader(handle int32, name string, buf []byte) int32
	httpRead(handle int32, buf []byte) int32
	httpClose(handle int32) int32

	shardInstanceCount() int32
	shardInstanceID(instance int32, buf []byte) int32
	shardInstanceLabel(instance int32, key string, buf []byte) int32
	shardPrev(item int32) int32
	shardAssign(item, instance int32) int32
}

// read repeats a read with a larger buffer if the first was too small. A negative number
// is an error code of the host.
func read(ask func(buf []byte) int32) ([]byte, int32) {
	buf := make([]byte, 256)
	for {
		n := ask(buf)
		if n < 0 {
			return nil, n
		}
		if int(n) <= len(buf) {
			return buf[:n], n
		}
		buf = make([]byte, n)
	}
}

// index converts a number that does not fit to one that every host refuses.
func index(i int) int32 {
	if int(int32(i)) != i {
		return -1
	}
	return int32(i)
}
