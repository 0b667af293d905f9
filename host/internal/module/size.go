package module

// MaxSize is the maximum number of bytes of a module, in a store and in transfer.
const MaxSize = 64 << 20
