package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// assigning builds a strategy. each returns the code for one item, whose number is in
// local 0; assign is the function that takes an item and an instance.
func assigning(each func(b *builder, assign uint32) []byte) []byte {
	b := &builder{}
	assign, num := b.abi(abi.FuncShardAssign), b.abi(abi.FuncCtxInt)
	code := each(b, assign)
	return b.entry(abi.ExportShard,
		op(0x03, 0x40),
		when(slices.Concat(getLocal(0), getNumber(num, abi.FieldShardingTotal), op(0x49)),
			code,
			getLocal(0), i32(1), op(opI32Add), setLocal(0), op(0x0c, 1)),
		op(opEnd), i32(0)).guest()
}

// modulo assigns item i to instance i modulo the number of instances.
func modulo() []byte {
	return assigning(func(b *builder, assign uint32) []byte {
		count := b.abi(abi.FuncShardInstanceCount)
		return slices.Concat(getLocal(0), getLocal(0), call(count), op(0x70), call(assign), op(opDrop)) // i32.rem_u
	})
}

func shardCall(total int, ids ...string) job.ShardCall {
	c := job.ShardCall{Config: job.Config{Name: "j", Param: "p"}, Namespace: "n", Total: total}
	for _, id := range ids {
		c.Instances = append(c.Instances, job.ShardInstance{ID: job.InstanceID(id)})
	}
	return c
}

func shardOnce(t *testing.T, wasm []byte, c job.ShardCall) ([]int, error) {
	t.Helper()
	e := newEngine(t)
	return e.Shard(t.Context(), load(t, e, wasm), c)
}

func wantOwners(t *testing.T, wasm []byte, c job.ShardCall, want ...int) {
	t.Helper()
	got, err := shardOnce(t, wasm, c)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestShard(t *testing.T) {
	t.Parallel()
	wantOwners(t, modulo(), shardCall(5, "c", "b", "a"), 0, 1, 2, 0, 1)

	// The present owner, or else the last instance.
	sticky := assigning(func(b *builder, assign uint32) []byte {
		prev := b.abi(abi.FuncShardPrev)
		return slices.Concat(
			getLocal(0), getLocal(0), call(prev), setLocal(1),
			getLocal(1), i32(1), getLocal(1), i32(abi.ErrNotFound), op(0x47, 0x1b), // ne, select
			call(assign), op(opDrop))
	})
	c := shardCall(4, "b", "a")
	c.Previous = []int{1, -1, 0}
	wantOwners(t, sticky, c, 1, 1, 0, 1)

	// The length of the label "w" of instance 0, or of its id.
	label := func(key string) []byte {
		return assigning(func(b *builder, assign uint32) []byte {
			get, id := b.abi(abi.FuncShardInstanceLabel), b.abi(abi.FuncShardInstanceID)
			b.putData(0, key)
			return slices.Concat(
				invokes(get, 0, 0, int64(len(key)), 0, 0), setLocal(1),
				getLocal(0),
				either(slices.Concat(getLocal(1), i32(abi.ErrNotFound), op(0x46)), invokes(id, 0, 0, 0), getLocal(1)),
				call(assign), op(opDrop))
		})
	}
	c = shardCall(1, "cc", "b", "a", "")
	c.Instances[0].Labels = map[string]string{"w": "x"}
	wantOwners(t, label("w"), c, 1)
	wantOwners(t, label("none"), c, 2)
}

func TestShardFaults(t *testing.T) {
	t.Parallel()
	b := &builder{}
	str, now := b.abi(abi.FuncErrorSet), b.fromHost(wasiModule, "random_get", valI32+valI32, valI32)
	_ = now
	reason := b.putData(0, "no idea").entry(abi.ExportShard, drop(invokes(str, 0, 7)), i32(170)).guest()

	b = &builder{}
	exit := b.fromHost(wasiModule, "proc_exit", valI32, "")
	exits := b.entry(abi.ExportShard, invokes(exit, int64(sys.ExitCodeDeadlineExceeded)-1<<32), op(opUnreachable)).guest()

	for _, tt := range []struct {
		name  string
		wasm  []byte
		fault ShardFault
		items []int
		text  string
	}{
		{"missing", assigning(func(_ *builder, assign uint32) []byte {
			return when(slices.Concat(getLocal(0), i32(2), op(0x70)), getLocal(0), i32(0), call(assign), op(opDrop))
		}), ShardMissing, []int{0, 2, 4}, "did not assign 3 of 5 items: 0, 2, 4"},
		{"twice", assigning(func(_ *builder, assign uint32) []byte {
			one := slices.Concat(getLocal(0), i32(0), call(assign), op(opDrop))
			return slices.Concat(one, one)
		}), ShardTwice, []int{0, 1, 2, 3, 4}, "more than once: 0, 1, 2, 3, 4"},
		{"trap", assigning(func(*builder, uint32) []byte { return op(opUnreachable) }), ShardTrap, nil, "unreachable"},
		{"exit like a deadline", exits, ShardTrap, nil, "exit code 4026531839"},
		{"code", reason, ShardCode, nil, "no idea"},
		{"endless", assigning(func(*builder, uint32) []byte { return forever() }), ShardFuel, nil, "fuel of 1000050000"},
		{"nothing", (&builder{}).entry(abi.ExportShard, i32(0)).guest(), ShardMissing, []int{0, 1, 2, 3, 4}, "5 of 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			owners, err := shardOnce(t, tt.wasm, shardCall(5, "b", "a"))
			s, ok := errors.AsType[*ShardError](err)
			if owners != nil || !ok || s.Fault != tt.fault || !slices.Equal(s.Items, tt.items) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, %+v, %v", owners, s, err)
			}
		})
	}
}

// Invalid calls are refused at once, and the guest receives the error.
func TestShardAssignAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		item, instance int64
		want           int32
	}{{0, 0, 0}, {0, 2, abi.ErrInvalid}, {2, 0, abi.ErrInvalid}, {-1, 0, abi.ErrInvalid}, {0, -1, abi.ErrInvalid}} {
		b := &builder{}
		assign := b.abi(abi.FuncShardAssign)
		wasm := b.entry(abi.ExportShard, plus(invokes(assign, tt.item, tt.instance), i32(1000))).guest()
		_, err := shardOnce(t, wasm, shardCall(2, "b", "a"))
		if s, ok := errors.AsType[*ShardError](err); !ok || s.Code != 1000+tt.want {
			t.Errorf("assign(%d, %d): %v", tt.item, tt.instance, err)
		}
	}
}

// A strategy cannot learn where or when it runs, so all servers get the same result.
func TestShardIsPure(t *testing.T) {
	t.Parallel()
	input := func() job.ShardCall {
		c := shardCall(1, "b", "a")
		c.Config.Allow = job.Allow{Clock: "real", Random: true, Env: map[string]string{"A": "b"}}
		return c
	}
	// Return the result of a function, or part of it, as the code.
	code := func(c job.ShardCall, build func(b *builder) []byte) int32 {
		b := &builder{}
		code := build(b)
		wasm := b.entry(abi.ExportShard, code, i32(0xffff), op(0x71), i32(256), op(opI32Add)).guest()
		_, err := shardOnce(t, wasm, c)
		s, ok := errors.AsType[*ShardError](err)
		if !ok {
			t.Fatal(err)
		}
		return s.Code - 256
	}
	refused := func(err int32) int32 { return err & 0xffff }
	text := func(field int64) int32 {
		return code(input(), func(b *builder) []byte { return invokes(b.abi(abi.FuncCtxStr), field, 0, 0) })
	}
	for field, want := range map[int64]int32{
		abi.FieldJobName: 1, abi.FieldJobParam: 1, abi.FieldNamespace: 1, abi.FieldSeed: 64, abi.FieldModuleDigest: 64,
		abi.FieldTaskID: refused(abi.ErrNotFound), abi.FieldInstanceID: refused(abi.ErrNotFound),
		abi.FieldRunID: refused(abi.ErrNotFound), abi.FieldShardingParam: refused(abi.ErrNotFound),
	} {
		if got := text(field); got != want {
			t.Errorf("field %d: %d, want %d", field, got, want)
		}
	}
	for field := int64(abi.FieldFireTime); field <= abi.FieldFetchCount; field++ {
		want := int32(0)
		if field == abi.FieldHostMinor {
			want = abi.HostMinor
		}
		if got := code(input(), func(b *builder) []byte { return getNumber(b.abi(abi.FuncCtxInt), field) }); got != want {
			t.Errorf("field %d: %d", field, got)
		}
	}
	for name, want := range map[string]int32{
		abi.FuncCtxJSON: abi.ErrNotFound, abi.FuncResultSet: abi.ErrWrongPhase, abi.FuncCancelled: abi.ErrWrongPhase,
		abi.FuncRandom: abi.ErrWrongPhase, abi.FuncStateGet: abi.ErrWrongPhase, abi.FuncHTTPRequest: abi.ErrWrongPhase,
		abi.FuncLogLevel: abi.LevelTrace,
	} {
		if got := code(input(), func(b *builder) []byte {
			f := b.abi(name)
			n := len(b.types[0]) - 4 // one letter each
			return slices.Concat(slices.Repeat(i32(0), n), call(f))
		}); got != refused(want) {
			t.Errorf("%s: %d", name, got-0x10000)
		}
	}
	// There is one item and there are two instances.
	for name, args := range map[string][]int64{
		abi.FuncShardInstanceID: {2, 0, 0}, abi.FuncShardInstanceLabel: {2, 0, 0, 0, 0}, abi.FuncShardPrev: {1},
	} {
		if got := code(input(), func(b *builder) []byte { return invokes(b.abi(name), args...) }); got != refused(abi.ErrInvalid) {
			t.Errorf("%s beyond the last: %d", name, got-0x10000)
		}
	}
	// The same holds in a start function.
	b := &builder{}
	asks := b.abi(abi.FuncCancelled)
	b.export(abi.ExportInitialize, kindFunc, b.fn("", "", 0, store8(0, call(asks))))
	_, err := shardOnce(t, b.entry(abi.ExportShard, load8(0)).guest(), input())
	if s, ok := errors.AsType[*ShardError](err); !ok || s.Code != 0x100+abi.ErrWrongPhase {
		t.Error(err)
	}
	// Time and random numbers depend only on the input.
	drawn := func(c job.ShardCall) int32 {
		return code(c, func(b *builder) []byte {
			return slices.Concat(drop(invokes(b.fromHost(wasiModule, "random_get", valI32+valI32, valI32), 0, 4)), load32(0))
		})
	}
	longer := input()
	longer.Total = 2
	if a, b := drawn(input()), drawn(longer); a != drawn(input()) || a == b {
		t.Errorf("drawn: %d, %d", a, b)
	}
	year := code(input(), func(b *builder) []byte {
		now := b.fromHost(wasiModule, "clock_time_get", valI32+valI64+valI32, valI32)
		return slices.Concat(i32(0), i64(1), i32(0), call(now), op(opDrop),
			i32(0), op(0x29, 3, 0), i64(86_400_000_000_000), op(0x80), op(opWrapI64)) // i64.load, i64.div_u
	})
	if year != 18_993 { // days from 1970 to 2022
		t.Errorf("day %d", year)
	}
}

// A lack of memory on this server must not change an assignment.
func TestShardWithoutMemory(t *testing.T) {
	t.Parallel()
	e, err := New(Options{Budget: 4*pageSize + stackSize})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	m := load(t, e, assigning(func(_ *builder, assign uint32) []byte {
		return slices.Concat(getLocal(0),
			slices.Concat(i32(30), op(0x40, 0)), i32(-1), op(0x46), // 1 if it cannot grow
			call(assign), op(opDrop))
	}))
	owners, err := e.Shard(t.Context(), m, shardCall(1, "b", "a"))
	if _, own := errors.AsType[*ShardError](err); owners != nil || own || err == nil || !strings.Contains(err.Error(), "needs 1966080 bytes of memory") {
		t.Errorf("%v, %v", owners, err)
	}
}

func TestShardRefuses(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if _, err := e.Shard(t.Context(), load(t, e, asker()), shardCall(1, "a")); err == nil || !strings.Contains(err.Error(), "is not a strategy; it can be: simple") {
		t.Error(err)
	}
	m := load(t, e, modulo())
	if _, err := e.Shard(t.Context(), m, shardCall(1)); err == nil {
		t.Error("assigned items without an instance")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless := load(t, e, assigning(func(*builder, uint32) []byte { return forever() }))
	if _, err := e.Shard(ctx, endless, shardCall(1, "a")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	m.Close()
	if _, err := e.Shard(t.Context(), m, shardCall(1, "a")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
}

func TestCheckStrategy(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if err := e.CheckStrategy(t.Context(), load(t, e, modulo()), job.Config{Name: "j"}); err != nil {
		t.Error(err)
	}
	// It assigns to at most three instances.
	three := assigning(func(_ *builder, assign uint32) []byte {
		return when(slices.Concat(getLocal(0), i32(3), op(0x49)), getLocal(0), i32(0), call(assign), op(opDrop))
	})
	err := e.CheckStrategy(t.Context(), load(t, e, three), job.Config{Name: "j"})
	if err == nil || !strings.Contains(err.Error(), "with 7 items and 1 instances: the strategy did not assign 4 of 7 items: 3, 4, 5, 6") {
		t.Error(err)
	}
}

// A guest cannot produce two different runs. A fault of the engine could.
func TestDiffering(t *testing.T) {
	t.Parallel()
	if got := differing([]int{0, 1, 2, 0}, []int{0, 2, 2, 1}); !slices.Equal(got, []int{1, 3}) {
		t.Error(got)
	}
}
