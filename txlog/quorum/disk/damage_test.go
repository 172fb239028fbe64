package disk_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

const page = 4096

// sample is a file with some of everything, the file as it was some steps before, and what is in it.
type sample struct {
	older, newer []byte
	content      string
}

// newSample returns the one of all tests, which none of them may change: it takes 120 steps, each of them synced.
func newSample(t *testing.T) sample {
	t.Helper()
	theSample.Do(func() { theSample.sample = makeSample(t) })
	if theSample.content == "" {
		t.Fatal("another test could not make the sample")
	}
	return theSample.sample
}

var theSample struct {
	sync.Once
	sample
}

func makeSample(t *testing.T) sample {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	g := storetest.Genesis(create(t, path))
	s := begin(t, path, g)
	c := storetest.Copy(g)
	step := func(n int, more store.Step) {
		var err error
		if more.Records, err = storetest.Grow(c, 2, n%7*100); err != nil {
			t.Fatal(err)
		}
		more.Values = map[string][]byte{"hard": fmt.Append(nil, "vote ", n), fmt.Sprint("v", n%5): bytes.Repeat([]byte{byte(n)}, 200)}
		more.Slots = append(more.Slots, store.Slot{Index: uint64(2 + n/2), Body: bytes.Repeat([]byte{byte(n)}, 50+n/2%4*700), Record: more.Records[n%2]})
		more.Heads = []txlog.Head{{Position: c.Position(), Member: "a", Signature: make([]byte, 96)}}
		if err := s.Write(more); err != nil {
			t.Fatal(err)
		}
	}
	var all sample
	for n := range 120 {
		step(n, store.Step{})
		if n%40 == 30 {
			if err := s.Keep(c.Position(), bytes.Repeat([]byte{byte(n)}, 20_000), store.Step{}); err != nil {
				t.Fatal(err)
			}
		}
		if n == 100 {
			for more := true; more; {
				var err error
				if more, err = s.Compact(60); err != nil {
					t.Fatal(err)
				}
			}
			all.older = bytesOf(t, path)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all.newer = bytesOf(t, path)
	s = open(t, path)
	all.content = dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func bytesOf(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dump returns a hash of all that a store says, or nothing if it says that it is damaged.
func dump(t testing.TB, s *disk.Store) string {
	t.Helper()
	b := sha256.New()
	view := s.View()
	fmt.Fprintf(b, "%d %v %v %d %d %v", view.ID, view.Floor, view.Last, view.FirstSlot, view.NextSlot, s.Genesis().ID())
	for _, name := range s.Names("") {
		b.Write(append([]byte(name), s.Value(name)...))
	}
	for index := view.Floor.Index + 1; index <= view.Last.Index; {
		records, err := s.Records(index, 10_000)
		if damaged(t, err) {
			return ""
		}
		for _, r := range records {
			b.Write(r.Raw())
			index++
		}
	}
	for index := view.Last.Index; index > view.Floor.Index; {
		h, found, err := s.Head(0, index)
		if damaged(t, err) {
			return ""
		}
		if !found {
			break
		}
		b.Write(h.Encode())
		index = h.Index - 1
	}
	for index := view.FirstSlot; index < view.NextSlot; {
		slots, err := s.Slots(index, 10_000)
		if damaged(t, err) {
			return ""
		}
		for _, slot := range slots {
			b.Write(slices.Concat([]byte{byte(slot.Index)}, slot.Body, slot.Record.Raw()))
			index++
		}
	}
	for _, k := range view.Kept {
		body, err := s.Piece(k.At.Index, 0, k.Size)
		if damaged(t, err) {
			return ""
		}
		b.Write(body)
	}
	return string(b.Sum(nil))
}

// damaged reports whether there is an error, which has to be damage.
func damaged(t testing.TB, err error) bool {
	t.Helper()
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("%v is not ErrDamaged", err)
	}
	return err != nil
}

// memory returns a folder in memory, where there is one: thousands of files are written and read, none has to last.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "conch-disk-") //nolint:usetesting // its folder is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// place writes the sample for judge.
func (all sample) place(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(memory(t), "log")
	write(t, path, all.newer)
	return path
}

// judge changes some bytes of the file that place has written, opens it, and puts them right again: it is refused, or reads as it
// was written. Opened to read it is not synced, which takes most of the time.
func (all sample) judge(t *testing.T, path string, at int, with []byte, what string) (refused bool) {
	t.Helper()
	overwrite(t, path, at, with)
	defer overwrite(t, path, at, all.newer[at:at+len(with)])
	return all.judgeFile(t, path, what)
}

func overwrite(t *testing.T, path string, at int, with []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(with, int64(at))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (all sample) judgeFile(t *testing.T, path, what string) (refused bool) {
	t.Helper()
	s, err := disk.OpenReadOnly(within(t), path)
	if damaged(t, err) {
		return true
	}
	got := dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got != all.content {
		t.Fatalf("%s: it opens, and reads other than it was written", what)
	}
	return false
}

// A flipped bit anywhere in the file is found, or changes nothing that is read (rule new-disk-new-member).
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := all.place(t)
	const seed = 13
	chance := rand.New(rand.NewPCG(seed, seed))
	refused, tried := 0, 0
	try := func(at, bit int) {
		tried++
		if all.judge(t, path, at, []byte{all.newer[at] ^ 1<<bit}, fmt.Sprintf("seed %d, bit %d of byte %d of page %d", seed, bit, at%page, at/page)) {
			refused++
		}
	}
	apart, anywhere := 32, 100
	if runtest.Nightly() {
		apart, anywhere = 2, 8000
	}
	if testing.Short() {
		apart, anywhere = 48, 60
	}
	for at := range len(all.newer) / page * 48 { // headers of all pages, and their first elements
		if at%apart == 0 {
			try(at/48*page+at%48, chance.IntN(8))
		}
	}
	for range anywhere {
		try(chance.IntN(len(all.newer)), chance.IntN(8))
	}
	t.Logf("%d of %d flipped bits are found; the others are in free pages and between values", refused, tried)
	if refused < tried/4 {
		t.Error("few are found: the test looks at free pages")
	}
}

// A page of zeros, of noise, of another place or of an earlier time is found, or nothing uses it. An earlier page has values whose
// checksums are right, and an earlier vote among them.
func TestSpoiledPages(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := all.place(t)
	chance := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, page)
	for i := range noise {
		noise[i] = byte(chance.Uint32())
	}
	refused := map[string]int{}
	for n := range len(all.newer) / page {
		if n > 3 && n%3 > 0 && !runtest.Nightly() { // the first ones say where all others are
			continue
		}
		part := func(b []byte, n int) []byte { return b[n*page : (n+1)*page] }
		other := chance.IntN(len(all.newer) / page)
		spoil := map[string][]byte{"zeros": make([]byte, page), "noise": noise, "another": part(all.newer, other), "half": append(bytes.Clone(part(all.newer, n)[:page/2]), make([]byte, page/2)...)}
		if n < len(all.older)/page && n >= 2 { // an earlier one of the first two is what a restored file has
			spoil["earlier"] = part(all.older, n)
		}
		for how, with := range spoil {
			if all.judge(t, path, n*page, with, fmt.Sprintf("page %d is %s", n, how)) {
				refused[how]++
			}
		}
	}
	t.Log(refused)
	for _, how := range []string{"zeros", "noise", "another", "half", "earlier"} {
		if refused[how] < 5 {
			t.Errorf("%d pages that are %s were found", refused[how], how)
		}
	}
}

// earlier returns pages that begin with the key of a page of the newer file, by its number, from the file as it was some steps
// before and from what is free in the newer one: the same page some steps or one step before, as a write that was lost or a
// reference that has changed leaves it.
func (all sample) earlier() (out map[int][][]byte) {
	out = map[int][][]byte{}
	first := func(b []byte) string { // the key of a leaf's first element
		if binary.NativeEndian.Uint16(b[8:]) != 2 || binary.NativeEndian.Uint16(b[10:]) == 0 {
			return ""
		}
		from, size := 16+int(binary.NativeEndian.Uint32(b[20:])), int(binary.NativeEndian.Uint32(b[24:]))
		if size > 30 || from+size > page {
			return ""
		}
		return string(b[from : from+size])
	}
	for n := 2; n < len(all.newer)/page; n++ {
		for m := range slices.Chunk(append(bytes.Clone(all.older[2*page:]), all.newer[2*page:]...), page) {
			now, was := all.newer[n*page:(n+1)*page], bytes.Clone(m)
			copy(was, now[:8]) // its number
			if key := first(now); key != "" && key == first(was) && !bytes.Equal(now, was) {
				out[n] = append(out[n], was)
			}
		}
	}
	return out
}

// A page as it was before has values whose checksums are right, an earlier vote among them: the state and its sums find it.
func TestEarlierPages(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := all.place(t)
	tried, refused := 0, 0
	for n, pages := range all.earlier() {
		for _, was := range pages {
			tried++
			if all.judge(t, path, n*page, was, fmt.Sprintf("page %d is an earlier one", n)) {
				refused++
			}
		}
	}
	t.Logf("%d of %d are found", refused, tried)
	if tried < 10 || refused < tried/4 { // how many there are depends on where the library has found free pages
		t.Error("few are found")
	}
}

// A page that runs over into one of another use is found before anything frees both.
func TestPageUsedTwice(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := all.place(t)
	found := 0
	for n := 2; n+1 < len(all.newer)/page; n++ {
		if binary.NativeEndian.Uint64(all.newer[n*page:]) != uint64(n) || binary.NativeEndian.Uint32(all.newer[n*page+12:]) != 0 {
			continue
		}
		if all.judge(t, path, n*page+12, binary.NativeEndian.AppendUint32(nil, 1), fmt.Sprintf("page %d runs over", n)) {
			found++
		}
	}
	if found < 10 {
		t.Errorf("%d are noticed", found)
	}
}

// The library goes on from the older of its first two pages where the newer one is spoiled: then the last promise is gone.
func TestTheNewestTransactionCounts(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := all.place(t)
	for n := range 2 {
		at := n*page + 16 + 48
		if !all.judge(t, path, at, []byte{all.newer[at] ^ 1}, fmt.Sprint("first page ", n)) {
			t.Errorf("page %d is spoiled, and nobody notices", n)
		}
	}
}

func TestCutFiles(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	path := all.place(t)
	step := 3 << 10 // within pages, and where one ends
	if runtest.Nightly() {
		step = 1 << 10
	}
	cut := func(size int) bool { // sizes become smaller
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		return all.judgeFile(t, path, fmt.Sprintf("cut at %d", size))
	}
	for size := (len(all.newer) - 1) / step * step; size > 3*page+5; size -= step {
		cut(size)
	}
	for _, size := range []int{3*page + 5, 2 * page, page, 1, 0} {
		if !cut(size) {
			t.Errorf("it was cut to %d bytes, and nobody notices", size)
		}
	}
}
