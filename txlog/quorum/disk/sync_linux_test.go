package disk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// A write or a sync that fails once and would succeed the next time: the store asks no second time (rule sync-first). The file's
// descriptor becomes /dev/full, which has no room as a disk that is full, or /dev/null, which takes what is written and cannot
// be synced.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	for device, want := range map[string]error{"/dev/full": syscall.ENOSPC, os.DevNull: syscall.EINVAL} {
		t.Run(filepath.Base(device), func(t *testing.T) {
			t.Parallel()
			diskFails(t, device, want)
		})
	}
}

func diskFails(t *testing.T, device string, want error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	s := begin(t, path, storetest.Genesis(create(t, path)))
	c := storetest.Copy(s.Genesis())
	step := func() store.Step {
		records, err := storetest.Grow(c, 1, 10)
		if err != nil {
			t.Fatal(err)
		}
		return store.Step{Records: records, Values: map[string][]byte{"hard": []byte(strconv.Itoa(int(c.Position().Index)))}}
	}
	must(s.Write(step()))
	must(s.Write(step()))
	fd := descriptor(t, path)
	good, err := syscall.Dup(fd)
	must(err)
	bad, err := os.OpenFile(device, os.O_RDWR, 0)
	must(err)
	defer func() { _ = bad.Close() }()
	must(syscall.Dup3(int(bad.Fd()), fd, syscall.O_CLOEXEC))
	failed := s.Write(step())
	must(syscall.Dup3(good, fd, syscall.O_CLOEXEC)) // the disk is well again
	must(syscall.Close(good))
	if !errors.Is(failed, store.ErrSync) || !errors.Is(failed, want) {
		t.Fatalf("the error is %v", failed)
	}
	at := s.View().Last
	for what, err := range map[string]error{
		"write": s.Write(step()), "flush": s.Flush(), "records": second(s.Records(1, 1)), "piece": second(s.Slots(0, 1)),
		"keep": s.Keep(at, []byte("x"), store.Step{}), "compact": second(s.Compact(0)), "failed": s.Failed(),
	} {
		if !errors.Is(err, store.ErrSync) {
			t.Errorf("%s after it failed: %v", what, err)
		}
	}
	if at.Index != 2 {
		t.Errorf("what was not synced is shown: record %d", at.Index)
	}
	must(s.Close())
	again := open(t, path) // the next process finds what was acknowledged
	if view := again.View(); view.Last.Index != 2 || string(again.Value("hard")) != "2" {
		t.Errorf("%+v", view)
	}
}

// descriptor returns the number of the descriptor with which this process has a file open.
func descriptor(t *testing.T, path string) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	must(err)
	for _, e := range all {
		if to, err := os.Readlink(fmt.Sprint("/proc/self/fd/", e.Name())); err == nil && to == path {
			n, err := strconv.Atoi(e.Name())
			must(err)
			return n
		}
	}
	t.Fatal("no descriptor")
	return 0
}
