package disk_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe" //nolint:depguard // golang.org/x/sys has no call that takes notices of a filter

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// What only a power failure would show: which files and folders are synced, in which order, and that what is read comes from the disk and not
// from the memory of the system.
func TestWhatIsAskedOfTheDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "log")
	var s *disk.Store
	says := func(what string, do func(), want string) {
		t.Helper()
		if got := strings.Join(asked(t, folder, do), ", "); got != want {
			t.Errorf("to %s it asks: %s\nwant %s", what, got, want)
		}
	}
	id := create(t, path)
	must(begin(t, path, storetest.Genesis(id)).Close())
	says("open", func() { s = open(t, path) }, "sync log, read log anew")
	records, err := storetest.Grow(storetest.Copy(s.Genesis()), 1, 10)
	must(err)
	says("write", func() { must(s.Write(store.Step{Records: records})) }, "sync log, sync log")
	must(s.Close())
	says("read only", func() { must(readOnly(t, path).Close()) }, "read log anew")

	content := bytesOf(t, path)
	must(os.WriteFile(path, bytes.Repeat([]byte{7}, len(content)), 0o600))
	says("find it damaged", func() {
		if _, err := disk.Open(context.Background(), path); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("the error is %v", err)
		}
	}, "sync log, read log anew, sync log.damaged, sync .")
	says("set it aside", func() { must(second(disk.SetAside(context.Background(), path))) }, "sync .")
	says("make another one", func() { must(second(disk.Create(context.Background(), path))) }, "sync log.new, sync log.new, sync log.new, sync log.new, sync ., sync log, read log anew")
}

// asked runs something in a thread of its own whose syncs are told before the system does them, and returns them, with the names below a folder.
func asked(t *testing.T, folder string, do func()) (all []string) {
	t.Helper()
	notices, over := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread() // and never unlocked: the thread ends with its filter
		fd, err := filtered()
		if err != nil {
			t.Log(err)
			fd = -1
		}
		if notices <- fd; fd >= 0 {
			do()
		}
	}()
	fd := <-notices
	if fd < 0 {
		<-over
		t.Skip("this system does not tell what a thread asks of it")
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, 10); err == nil && ready[0].Revents&unix.POLLIN != 0 {
			all = append(all, take(t, fd, folder)...)
			continue
		}
		select {
		case <-over:
			return all
		default:
		}
	}
}

// filtered has the system tell what this thread asks of the disk, and wait until the notice is answered.
func filtered() (int, error) {
	var program []unix.SockFilter
	calls := []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FADVISE64}
	program = append(program, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}) // the number of the call
	for i, call := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: uint8(len(calls) - i)})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&p)))
	if failed != 0 {
		return 0, failed
	}
	return int(fd), nil
}

// take takes a notice, and has the system go on.
func take(t *testing.T, fd int, folder string) []string {
	t.Helper()
	var notice [80]byte // struct seccomp_notif
	if _, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&notice))); failed != 0 {
		return nil // the call was interrupted: it comes again
	}
	order := binary.NativeEndian
	call, file := order.Uint32(notice[16:]), order.Uint64(notice[32:])
	name, err := os.Readlink(fmt.Sprint("/proc/self/fd/", file))
	must(err)
	name, err = filepath.Rel(folder, name)
	must(err)
	if draft, _, is := strings.Cut(name, ".new-"); is {
		name = draft + ".new"
	}
	var answer [24]byte // struct seccomp_notif_resp
	copy(answer[:8], notice[:8])
	order.PutUint32(answer[20:], unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
	if _, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer))); failed != 0 {
		t.Error(failed)
	}
	if call == unix.SYS_FADVISE64 {
		return []string{"read " + name + " anew"}
	}
	return []string{"sync " + name}
}
