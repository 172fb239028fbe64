//go:build unix

package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// A file that is spoiled while it is used: a reading is damage or right, and after damage nothing works any more, also after a
// restart, though the file may be read right again.
func TestSpoiledWhileInUse(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	chance := rand.New(rand.NewPCG(2, 2))
	path := filepath.Join(memory(t), "log")
	found := 0
	for n := range 60 {
		_ = os.Remove(path + ".damaged")
		write(t, path, all.newer)
		s := open(t, path)
		at := chance.IntN(len(all.newer))
		spoil(t, path, at, all.newer[at]^1<<chance.IntN(8))
		if n%3 == 0 { // a whole page
			for i := range page {
				spoil(t, path, at/page*page+i, byte(chance.Uint32()))
			}
		}
		got := dump(t, s)
		if got == all.content {
			_ = s.Close()
			continue
		}
		if got != "" {
			t.Fatalf("run %d: a wrong value after byte %d of page %d was spoiled", n, at%page, at/page)
		}
		found++
		for _, err := range []error{s.Failed(), s.Write(store.Step{}), s.Flush(), second(s.Records(s.View().Last.Index, 1))} {
			if !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("after damage: %v", err)
			}
		}
		_ = s.Close()
		write(t, path, all.newer) // the disk reads right again
		if _, err := disk.Open(within(t), path); !errors.Is(err, store.ErrDamaged) {
			t.Fatalf("a store that was damaged is used again: %v", err)
		}
	}
	t.Logf("%d of 60 were found", found)
	if found < 12 {
		t.Error("few are found")
	}
}

// A slot that was replaced never comes back: an earlier page has it with its checksum.
func TestEarlierPagesWhileInUse(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := filepath.Join(memory(t), "log")
	tried, found := 0, 0
	for n, pages := range all.earlier() {
		for _, was := range pages {
			tried++
			_ = os.Remove(path + ".damaged")
			write(t, path, all.newer)
			s := open(t, path)
			for at, to := range was {
				if to != all.newer[n*page+at] {
					spoil(t, path, n*page+at, to)
				}
			}
			switch got := dump(t, s); got {
			case all.content:
			case "":
				found++
			default:
				t.Fatalf("page %d is an earlier one, and is read", n)
			}
			_ = s.Close()
		}
	}
	t.Logf("%d of %d are found", found, tried)
	if found < 5 {
		t.Error("few are found")
	}
}

// A file that becomes shorter under the process is a fault of memory, which is damage and ends nothing else.
func TestCutWhileInUse(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := filepath.Join(memory(t), "log")
	for _, size := range []int{0, page, 3 * page, len(all.newer) / 2, len(all.newer) - 40*page} {
		_ = os.Remove(path + ".damaged")
		write(t, path, all.newer)
		s := open(t, path)
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		if got := dump(t, s); got != "" && got != all.content {
			t.Fatalf("cut to %d: a wrong value", size)
		}
		if size <= 3*page && !errors.Is(s.Failed(), store.ErrDamaged) {
			t.Errorf("cut to %d: %v", size, s.Failed())
		}
		if err := s.Close(); err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("cut to %d: %v", size, err)
		}
	}
}

// A step that meets damage is not written, and the lock is free afterwards.
func TestStepMeetsDamage(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := filepath.Join(memory(t), "log")
	write(t, path, all.newer)
	s := open(t, path)
	for at := 2 * page; at < len(all.newer); at++ {
		if at%page < 16 {
			spoil(t, path, at, 0xFF)
		}
	}
	if err := s.Write(store.Step{Values: map[string][]byte{"hard": []byte("another vote")}}); !errors.Is(err, store.ErrDamaged) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if aside, err := disk.SetAside(within(t), path); err != nil || bytesOf(t, aside) == nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// spoil changes one byte of a file.
func spoil(t testing.TB, path string, at int, to byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte{to}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// A new store has a new id; one that is gone, emptied, damaged or moved aside never comes back under its old one (rule
// new-disk-new-member).
func TestNewDiskNewMember(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if _, err := disk.Open(within(t), path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a store is made by itself: %v", err)
	}
	id := create(t, path)
	if again := create(t, path); again != id || id == 0 || id >= 1<<53 {
		t.Fatalf("ids %d and %d", id, again)
	}
	if _, err := disk.Open(within(t), path); !errors.Is(err, disk.ErrNoLog) {
		t.Fatal(err)
	}
	g := storetest.Genesis(id)
	s := begin(t, path, g)
	if view := s.View(); view.ID != id || view.Last != g.Start() {
		t.Fatal(view)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := begin(t, path, g).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Begin(within(t), path, storetest.Genesis(5)); !errors.Is(err, disk.ErrLog) {
		t.Fatal(err)
	}
	if _, err := disk.Create(within(t), path); !errors.Is(err, disk.ErrLog) {
		t.Fatal(err)
	}
	ids := map[uint64]bool{id: true}
	for n, lose := range []func(){
		func() { _ = os.Remove(path) },
		func() { write(t, path, nil) },
		func() { spoil(t, path, page+40, 9) },
		func() {},
		func() { // somebody has moved the store away, and left the mark
			must(os.WriteFile(path+".damaged", []byte("it was"), 0o600))
			must(os.Rename(path, path+".away"))
		},
	} {
		lose()
		if n == 1 || n == 2 {
			if _, err := disk.Create(within(t), path); !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("%d: %v", n, err)
			}
		}
		if n == 4 {
			if _, err := disk.Open(within(t), path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("without a store: %v", err)
			}
		}
		if n > 0 && n < 4 {
			aside, err := disk.SetAside(within(t), path)
			if err != nil || aside != fmt.Sprintf("%s.aside-%d", path, n) {
				t.Fatal(aside, err)
			}
			if _, err := os.Stat(aside + ".damaged"); (err == nil) != (n < 3) {
				t.Errorf("the mark of %s: %v", aside, err)
			}
		}
		fresh := create(t, path)
		if ids[fresh] {
			t.Fatalf("id %d comes again", fresh)
		}
		ids[fresh] = true
		if err := begin(t, path, storetest.Genesis(fresh)).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := filepath.Glob(path + ".new-*"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// One process uses a file; a reader of one that is in use is told so.
func TestHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	s := begin(t, path, storetest.Genesis(create(t, path)))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	short, cancel := briefly(t)
	defer cancel()
	for _, err := range []error{
		second(disk.Open(short, path)), second(disk.Open(short, link)), second(disk.OpenReadOnly(short, path)), second(disk.SetAside(short, path)), second(disk.Create(short, path)),
	} {
		if !errors.Is(err, store.ErrHeld) {
			t.Errorf("%v is not ErrHeld", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	one, two := readOnly(t, path), readOnly(t, path)
	if err := one.Write(store.Step{}); !errors.Is(err, disk.ErrReadOnly) {
		t.Error(err)
	}
	before := bytesOf(t, path)
	if _, err := disk.Open(short, path); !errors.Is(err, store.ErrHeld) {
		t.Errorf("readers have it: %v", err)
	}
	if err := errors.Join(one.Close(), two.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, bytesOf(t, path)) {
		t.Error("a reader has written")
	}
	_ = open(t, path)
}

// A slot that was replaced never comes back, though an earlier page has it with a checksum that is right.
func TestReplacedSlot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(memory(t), "log")
	s := begin(t, path, storetest.Genesis(create(t, path)))
	var all sample
	for n := range 2 {
		step := store.Step{}
		for i := range 5 {
			step.Slots = append(step.Slots, store.Slot{Index: uint64(2 + i), Body: bytes.Repeat([]byte{byte(n)}, 500)})
		}
		must(s.Write(step))
		all.older, all.newer = all.newer, bytesOf(t, path)
	}
	tried := 0
	for n, pages := range all.earlier() {
		for _, was := range pages {
			tried++
			for at, to := range was {
				spoil(t, path, n*page+at, to)
			}
			if slots, err := s.Slots(2, 10_000); err == nil && slots[0].Body[0] != 1 || err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("%d slots, %v", len(slots), err)
			}
			write(t, path, all.newer)
		}
	}
	if tried == 0 || s.Failed() == nil {
		t.Errorf("%d pages were tried, and the store says %v", tried, s.Failed())
	}
}
