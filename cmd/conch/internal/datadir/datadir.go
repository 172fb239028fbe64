//go:build unix

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/durable"
)

const (
	pidFile    = "conch.pid"
	reloadFile = "reload.json"
	looks      = 1000 // the number of tries for a lock that is only shared
)

// ErrTaken means that another node uses the folder.
var ErrTaken = errors.New("another node uses it: wait if that is ending, or name another folder")

// ErrNoNode means that no node uses the folder.
var ErrNoNode = errors.New("no node runs there")

// Dir is a folder that this process has taken.
type Dir struct {
	path string
	pid  *os.File
	seq  int64
}

// Take makes the folder if necessary, and takes it. It returns ErrTaken if another node has it.
func Take(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(path, pidFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if !lock(f) {
		_ = f.Close()
		return nil, ErrTaken
	}
	d := &Dir{path: path, pid: f}
	if last, err := Read(path); err == nil {
		d.seq = last.Seq
	}
	if err := d.sign(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return d, nil
}

// sign writes the number of this process, for conch reload alone: the lock is what keeps others away, so a full disk keeps no node from
// starting.
func (d *Dir) sign() error {
	text := strconv.Itoa(os.Getpid()) + "\n"
	_, err := d.pid.WriteAt([]byte(text), 0)
	if err == nil {
		err = d.pid.Truncate(int64(len(text)))
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return nil
	}
	return err
}

// lock locks the file, unless a node has it. A look for a node shares the lock for a moment, which
// must not keep a node from starting.
func lock(f *os.File) bool {
	for range looks {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
			return false // a node has it
		}
		<-time.After(time.Millisecond)
	}
	return false
}

// Release empties the file and gives the folder up. It leaves the file, which may be a successor's.
func (d *Dir) Release() {
	_ = d.pid.Truncate(0)
	_ = d.pid.Close()
}

// Result is the outcome of a reload.
type Result struct {
	Seq    int64           `json:"seq"` // grows with each reload
	Answer json.RawMessage `json:"answer"`
}

// Write leaves the answer to a reload for the process that asked.
func (d *Dir) Write(answer any) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	d.seq++
	text, err := json.Marshal(Result{Seq: d.seq, Answer: body})
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(d.path, reloadFile), text)
}

// Read reads the result of the last reload.
func Read(path string) (r Result, err error) {
	text, err := os.ReadFile(filepath.Join(path, reloadFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// Find returns the process number of the node that uses a folder, or ErrNoNode.
func Find(path string) (int, error) {
	f, err := os.Open(filepath.Join(path, pidFile))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNoNode, err)
	}
	defer func() { _ = f.Close() }()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0, fmt.Errorf("%w: %s", ErrNoNode, path) // no node holds the lock
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%w: %s is just starting or ending, or its disk was too full for its process number: then send it SIGHUP", ErrNoNode, path)
	}
	return pid, nil
}
