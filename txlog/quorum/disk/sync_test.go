//go:build unix

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// A test that runs itself as a child says by these what it is to be.
const (
	childEnv = "CONCH_DISK_CHILD"
	pathEnv  = "CONCH_DISK_PATH"
)

// child returns a command that runs one test of this binary as a child with a store.
func child(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestChild$", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), childEnv+"="+what, pathEnv+"="+path)
	cmd.WaitDelay = time.Second
	return cmd
}

// TestChild is the child of the tests below.
func TestChild(t *testing.T) {
	path := os.Getenv(pathEnv)
	switch os.Getenv(childEnv) {
	case "writes":
		writeForEver(path)
	case "is limited":
		fillUp(path)
	default:
		t.Skip("it is the child of other tests")
	}
}

// writeForEver writes steps and acknowledges each, until it is killed.
func writeForEver(path string) {
	s, c := childStore(path)
	for {
		records, err := storetest.Grow(c, 1+int(c.Position().Index%5), 300)
		must(err)
		last := records[len(records)-1]
		step := store.Step{
			Records: records, Values: map[string][]byte{"last": []byte(strconv.FormatUint(last.Index, 10))},
			Slots: []store.Slot{{Index: s.View().NextSlot, Record: last}},
		}
		if s.View().NextSlot == 0 {
			step.Slots[0].Index = 2
		}
		must(s.Write(step))
		fmt.Println("stored", last.Index, last.Hash())
		if last.Index%50 < 5 {
			at := c.Position()
			must(s.Keep(at, c.Snapshot(), store.Step{}))
			_, err = s.Compact(at.Index - min(at.Index, 40))
			must(err)
		}
	}
}

// fillUp writes until there is no room: the file may have so many bytes and no more.
func fillUp(path string) {
	s, c := childStore(path)
	signal.Ignore(syscall.SIGXFSZ)
	info, err := os.Stat(path)
	must(err)
	limit := uint64(info.Size()) + 200_000
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}))
	for {
		records, err := storetest.Grow(c, 1, 5000)
		must(err)
		if err := s.Write(store.Step{Records: records}); err != nil {
			fmt.Println("failed", errors.Is(err, store.ErrSync), errors.Is(s.Write(store.Step{}), store.ErrSync), errors.Is(second(s.Records(1, 1)), store.ErrSync))
			os.Exit(3)
		}
		fmt.Println("stored", records[0].Index, records[0].Hash())
	}
}

func childStore(path string) (*disk.Store, *txlog.Copy) {
	s, err := disk.Open(context.Background(), path)
	must(err)
	c, err := store.Load(s, storetest.NewState)
	must(err)
	return s, c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// acknowledged is the last record that a child has said to be stored.
type acknowledged struct {
	index uint64
	hash  string
}

func (a *acknowledged) hear(t *testing.T, line string) {
	t.Helper()
	part := strings.Fields(line)
	if len(part) != 3 || part[0] != "stored" {
		t.Fatalf("the child says %q", line)
	}
	index, err := strconv.ParseUint(part[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	*a = acknowledged{index: index, hash: part[2]}
}

// in checks that the store has it, and that the log makes a copy.
func (a *acknowledged) in(t *testing.T, s *disk.Store) {
	t.Helper()
	view := s.View()
	if view.Last.Index < a.index {
		t.Fatalf("record %d was acknowledged, and the store ends at %d", a.index, view.Last.Index)
	}
	if records, err := s.Records(a.index, 1); err != nil && a.index > view.Floor.Index || err == nil && records[0].Hash().String() != a.hash {
		t.Fatalf("record %d was acknowledged, and there is another: %v", a.index, err)
	}
	c, err := store.Load(s, storetest.NewState)
	if err != nil || c.Position() != view.Last {
		t.Fatalf("the copy: %v", err)
	}
}

// What was acknowledged is there after kill -9, at any moment of writing (rule sync-first). Each child writes some hundred
// steps, and snapshots among them.
func TestKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	path := filepath.Join(t.TempDir(), "log")
	must(begin(t, path, storetest.Genesis(create(t, path))).Close())
	rounds := 8
	if runtest.Nightly() {
		rounds = 100
	}
	commits := 0
	var last acknowledged
	for round := range rounds {
		p := proctest.Listen(t, child(t, "writes", path))
		deadline := time.After(patience)
		for range 20 + round*17 {
			select {
			case line, more := <-p.Lines:
				if !more {
					t.Fatal("the child has ended by itself")
				}
				last.hear(t, line)
				commits++
			case <-deadline:
				t.Fatal("the child is slow")
			}
		}
		p.Kill()
		for line := range p.Lines { // what it has said before it died
			last.hear(t, line)
			commits++
		}
		s := open(t, path)
		last.in(t, s)
		must(s.Close())
	}
	t.Logf("%d commits, %d kills, the last record is %d", commits, rounds, last.index)
}

// A file that may not grow fails a commit: then nothing works any more, and the next process finds what was
// acknowledged (rule sync-first).
func TestNoRoom(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a process")
	}
	path := filepath.Join(t.TempDir(), "log")
	must(begin(t, path, storetest.Genesis(create(t, path))).Close())
	p := proctest.Listen(t, child(t, "is limited", path))
	var last acknowledged
	said := ""
	for line := range p.Lines {
		if strings.HasPrefix(line, "failed") {
			said = line
			break
		}
		last.hear(t, line)
	}
	if code := p.Wait(patience); code != 3 || said != "failed true true true" {
		t.Fatalf("it ends with %d and says %q", code, said)
	}
	if last.index == 0 {
		t.Fatal("nothing was stored before")
	}
	s := open(t, path)
	last.in(t, s)
	if s.View().Last.Index != last.index {
		t.Errorf("the step that failed is there")
	}
}
