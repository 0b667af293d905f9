package module

// MaxSize is how many bytes a module may have, on its way to a server and there.
const MaxSize = 64 << 20
