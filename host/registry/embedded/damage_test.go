package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// sampleDisk returns a directory with a snapshot that has nodes and a log that has records of
// every kind, the last one of kind last.
func sampleDisk(t testing.TB, last byte) *memDisk {
	t.Helper()
	d := newMemDisk()
	for range 2 { // the second opening begins with a snapshot of the first
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, b := openSession(t, r), openSession(t, r)
		name := fmt.Sprintf("/n%d", a.ID())
		mustCommit(t, a, registry.Op{Kind: registry.Create, Path: name, Data: []byte("data")})
		mustCommit(t, b, registry.Op{Kind: registry.CreateEphemeral, Path: name + "/e"})
		mustCommit(t, a, registry.Op{Kind: registry.CreateSequential, Path: name + "/s-"},
			registry.Op{Kind: registry.Check, Path: name, Version: 0})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if last == recordCommit {
			mustCommit(t, a, registry.Op{Kind: registry.Set, Path: name, Data: []byte("last"), Version: 0})
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// frames returns the offsets of the frames of a log, and of its end.
func frames(log []byte, seq uint64) []int64 {
	offsets := []int64{logHeader}
	for offset := int64(logHeader); offset < int64(len(log)); {
		payload, problem := frameAt(log, seq, offset)
		if problem != "" {
			panic(problem)
		}
		offset += frameHeader + int64(len(payload))
		offsets = append(offsets, offset)
	}
	return offsets
}

func TestBitFlip_is_never_believed(t *testing.T) {
	t.Parallel()
	for _, last := range []byte{recordCommit, recordEnd} {
		d := sampleDisk(t, last)
		if names := strings.Join(d.names(), " "); names != "log-0000000002 snapshot-0000000002" {
			t.Fatal(names)
		}
		log := d.contents(logName(2))
		offsets := frames(log, 2)
		note := offsets[len(offsets)-2] // says that everything before it was synced
		whole := recoveredText(t, d)
		for _, name := range d.names() {
			b := d.contents(name)
			for i := range len(b) * 8 {
				flipped := slices.Clone(b)
				flipped[i/8] ^= 1 << (i % 8)
				broken := d.copy()
				broken.replace(name, flipped)
				found, err := recoverTree(broken, quiet)
				var damage *DamageError
				switch {
				case errors.As(err, &damage):
					if damage.File != d.path(name) || !strings.Contains(err.Error(), restoreAdvice) || damage.Offset > int64(i/8) && name == logName(2) {
						t.Errorf("bit %d of %s: %v", i, name, err)
					}
				case err != nil:
					t.Errorf("bit %d of %s: %v", i, name, err)
				case name != logName(2) || int64(i/8) < note:
					t.Errorf("bit %d of %s was accepted", i, name)
				case text(found) != whole:
					t.Errorf("bit %d of the last note changed the tree", i)
				}
			}
		}
	}
}

func recoveredText(t *testing.T, d *memDisk) string {
	t.Helper()
	found, err := recoverTree(d, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return text(found)
}

func text(found recovered) string {
	return fmt.Sprintf("%d\n%s", found.tree.Revision(), dump(found.tree))
}

func TestTornTail_is_cut_with_a_warning(t *testing.T) {
	t.Parallel()
	d := sampleDisk(t, recordCommit)
	log := d.contents(logName(2))
	offsets := frames(log, 2)
	log = log[:offsets[len(offsets)-2]] // without the note that everything was synced
	lastFrame, whole := offsets[len(offsets)-3], recoveredText(t, d)
	for size := lastFrame + 1; size < int64(len(log)); size++ {
		torn := d.copy()
		torn.replace(logName(2), log[:size])
		var said bytes.Buffer
		found, err := recoverTree(torn, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil || text(found) == whole {
			t.Fatalf("%d of %d bytes: %v", size, len(log), err)
		}
		if !strings.Contains(said.String(), fmt.Sprintf("offset=%d bytes=%d", lastFrame, size-lastFrame)) {
			t.Errorf("%d bytes: warned %q", size, said.String())
		}
	}
	zeros := d.copy()
	zeros.replace(logName(2), append(log, make([]byte, 100)...))
	if recoveredText(t, zeros) != whole {
		t.Error("zeros behind the log change it")
	}
}

// twoInOneSync returns a directory whose log ends with two records that one sync covers, and
// the offsets where the first begins and the second ends.
func twoInOneSync(t *testing.T) (d *memDisk, first, end int64) {
	t.Helper()
	d = newMemDisk()
	r, err := open(d, Options{Relaxed: func([]registry.Op) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, r)
	mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/kept"})
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/a"})
	mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/b"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	offsets := frames(d.contents(logName(1)), 1)
	last := len(offsets) - 2 // the last note
	return d, offsets[last-2], offsets[last]
}

// A power loss may keep a later part of the unsynced data and not an earlier one. Once a note
// says that it was synced, the same is damage.
func TestHole_is_cut_only_where_nothing_was_synced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no sync because of syncWithin comes between the two records
		d, first, end := twoInOneSync(t)
		synced := d.contents(logName(1))
		clear(synced[first : first+frameHeader])
		unsynced := d.copy()
		unsynced.replace(logName(1), synced[:end])
		d.replace(logName(1), synced)

		_, err := recoverTree(d, quiet)
		var damage *DamageError
		if !errors.As(err, &damage) || damage.Offset != first {
			t.Errorf("a hole in what was synced: %v", err)
		}
		var said bytes.Buffer
		found, err := recoverTree(unsynced, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if !found.tree.Get("/kept").Exists || found.tree.Get("/a").Exists || found.tree.Get("/b").Exists {
			t.Errorf("recovered %s", text(found))
		}
		if want := fmt.Sprintf("offset=%d bytes=%d", first, end-first); !strings.Contains(said.String(), want) {
			t.Errorf("warned %q, not of %s", said.String(), want)
		}

		// A log of version 1 does not say how far it was synced.
		old := slices.Clone(synced[:end])
		binary.LittleEndian.PutUint32(old[8:], 1)
		binary.LittleEndian.PutUint32(old[logHeader-4:], crc32.Checksum(old[:logHeader-4], castagnoli))
		unsynced.replace(logName(1), old)
		if _, err := recoverTree(unsynced, quiet); !errors.As(err, &damage) || damage.Offset != first {
			t.Errorf("a hole in a log of version 1: %v", err)
		}
	})
}

func TestDamagedDirectory_is_refused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		harm func(d *memDisk)
		file string
	}{
		{"log missing", func(d *memDisk) { delete(d.now.files, logName(2)) }, logName(2)},
		{"snapshot missing", func(d *memDisk) { delete(d.now.files, snapshotName(2)) }, snapshotName(2)},
		{"log between missing", func(d *memDisk) { d.replace(logName(4), nil) }, logName(3)},
		{"log of another number", func(d *memDisk) { d.replace(logName(3), d.contents(logName(2))) }, logName(3)},
		{"torn before a log in use", func(d *memDisk) {
			log := d.contents(logName(2))
			d.replace(logName(2), log[:len(log)-1])
			f, err := createLog(d, 3)
			if err == nil {
				_, err = f.Write([]byte("x"))
			}
			if err != nil {
				panic(err)
			}
		}, logName(2)},
		{"byte too many in the snapshot", func(d *memDisk) {
			d.replace(snapshotName(2), append(d.contents(snapshotName(2)), 0))
		}, snapshotName(2)},
		{"record that does not follow", func(d *memDisk) {
			log := d.contents(logName(2))
			d.replace(logName(2), appendFrame(log, record{kind: recordEnd, revision: 7}, 2, int64(len(log))))
		}, logName(2)},
		{"record of unknown kind", func(d *memDisk) {
			log := d.contents(logName(2))
			d.replace(logName(2), appendFrame(log, record{kind: 9}, 2, int64(len(log))))
		}, logName(2)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := sampleDisk(t, recordCommit)
			test.harm(d)
			before := d.copy()
			_, err := open(d, Options{})
			var damage *DamageError
			if !errors.As(err, &damage) || damage.File != d.path(test.file) {
				t.Errorf("error %v", err)
			}
			for _, name := range d.names() {
				if !bytes.Equal(d.contents(name), before.contents(name)) {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// The advice in the error works: a log cut as advised opens again.
func TestDamage_can_be_cut_as_advised(t *testing.T) {
	t.Parallel()
	d := sampleDisk(t, recordCommit)
	log := d.contents(logName(2))
	log[logHeader+frameHeader+3] ^= 1
	d.replace(logName(2), log)
	_, err := open(d, Options{})
	var damage *DamageError
	if !errors.As(err, &damage) || !strings.Contains(err.Error(), fmt.Sprintf("truncate -s %d %s", logHeader, d.path(logName(2)))) {
		t.Fatalf("error %v", err)
	}
	d.replace(logName(2), log[:damage.Offset])
	r, err := open(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLeftovers_of_an_unfinished_snapshot_are_ignored(t *testing.T) {
	t.Parallel()
	d := sampleDisk(t, recordCommit)
	want := recoveredText(t, d)
	if _, err := createLog(d, 3); err != nil {
		t.Fatal(err)
	}
	d.replace(snapshotName(3)+temporary, []byte("half"))
	d.replace(logName(1), []byte("old"))
	d.replace("other", []byte("not ours"))
	if got := recoveredText(t, d); got != want {
		t.Errorf("recovered %s", got)
	}
	r, err := open(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(d.names(), " "); names != "log-0000000004 other snapshot-0000000004" {
		t.Errorf("files: %s", names)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(appendRecord(nil, record{kind: recordEnd, revision: 5, owner: 3}))
	f.Add(appendRecord(nil, record{kind: recordSynced, synced: 300}))
	f.Add(appendRecord(nil, record{kind: recordCommit, ops: []registry.Op{{Kind: registry.Set, Path: "/a", Data: []byte("x"), Version: -1}}}))
	f.Add([]byte{recordCommit, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		again, err := parseRecord(appendRecord(nil, r))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
			t.Fatalf("%v became %v: %v", r, again, err)
		}
	})
}

// FuzzReplay replays any bytes as a log behind its header.
func FuzzReplay(f *testing.F) {
	f.Add(sampleDisk(f, recordEnd).contents(logName(2))[logHeader:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		log := append(make([]byte, logHeader), b...)
		if torn, err := replayLog("log", tree.New(), log, 2); torn != nil && err != nil {
			t.Fatalf("both torn %v and refused %v", torn, err)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add(sampleDisk(f, recordEnd).contents(snapshotName(2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if tr, _, _, problem := decodeSnapshot(b, 2); (tr == nil) == (problem == "") {
			t.Fatalf("tree %v with problem %q", tr, problem)
		}
	})
}

// Names and numbers never repeat, even if the log lost its end.
func TestRestart_repeats_no_number(t *testing.T) {
	t.Parallel()
	d := newMemDisk()
	var revision int64
	sessions := map[registry.SessionID]bool{}
	names := map[string]bool{}
	for start := range 5 {
		r, err := open(d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := openSession(t, r)
		if sessions[s.ID()] {
			t.Errorf("session %d again", s.ID())
		}
		sessions[s.ID()] = true
		if start == 0 {
			mustCommit(t, s, registry.Op{Kind: registry.Create, Path: "/q"}, registry.Op{Kind: registry.Create, Path: "/v"})
		}
		if n, err := s.Read(context.Background(), "/q"); err != nil || len(n.Children) > 0 {
			t.Errorf("ephemeral nodes outlived the process: %v %v", n.Children, err)
		}
		receipt := mustCommit(t, s, registry.Op{Kind: registry.CreateEphemeralSequential, Path: "/q/n-"})
		if name := receipt.Results[0].Path; names[name] {
			t.Errorf("name %s again", name)
		} else {
			names[name] = true
		}
		synced := len(d.contents(logName(uint64(start + 1))))
		receipt = mustCommit(t, s, registry.Op{Kind: registry.Set, Path: "/v", Version: registry.AnyVersion})
		if receipt.Revision <= revision {
			t.Errorf("revision %d after %d", receipt.Revision, revision)
		}
		revision = receipt.Revision
		old := d.copy()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		d = old // as if killed
		d.replace(logName(uint64(start+1)), d.contents(logName(uint64(start + 1)))[:synced])
	}
}
