//go:build unix

package proctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// SharedEnv names a folder in which the packages of one run of the tests share what takes long to make. Package
// postmaster has it too, for the template of its servers.
const SharedEnv = "CONCH_TEST_SHARED"

// building bounds a build, which may take minutes.
const building = 10 * time.Minute

// Stamp are the flags with which the packages of a run build conch, so that they share it. It has no tables for a
// debugger, which the linker writes slowly.
var Stamp = []string{"-ldflags", "-s -w -X main.version=9.8.7 -X main.commit=abcdef0"}

// built has the outcome of each build, by path.
var built = struct {
	sync.Mutex
	faults map[string]error
}{faults: map[string]error{}}

// Build compiles the program in a folder, once, and returns its path. If
// [SharedEnv] names a folder, the first package of a run that asks builds it for all. Else its folder is beside
// the test's own binary, which the go command removes; Git ignores the suffix .test. Programs that look for each other in
// their own folder find what was built; a name with a slash has a folder of its own.
func Build(name, folder string, flags ...string) (string, error) {
	dir, lasts := filepath.Dir(os.Args[0]), false
	// After os.Getenv the go command would keep the result of a test for this folder only.
	if shared, _ := syscall.Getenv(SharedEnv); shared != "" {
		dir, lasts = shared, true
	}
	path, err := filepath.Abs(filepath.Join(dir, "programs.test", filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", err
	}
	built.Lock()
	defer built.Unlock()
	fault, tried := built.faults[path]
	if !tried {
		fault = build(path, folder, lasts, flags)
		built.faults[path] = fault
	}
	return path, fault
}

// build does nothing if the program is there and lasts as long as the run: to ask the go command whether it is up
// to date takes a second.
func build(path, folder string, lasts bool, flags []string) error {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil && lasts {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), building)
	defer cancel()
	half := path + ".half" // a program whose build was cut short must not be taken for one
	args := append(append([]string{"build", "-o", half}, flags...), ".")
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the path is of this test's own folder
	cmd.Dir, cmd.WaitDelay = folder, time.Second
	if !slices.Contains(flags, "-race") {
		// The C code below go-ethereum takes a minute to compile, and no test wins that by it.
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", folder, err, out)
	}
	return os.Rename(half, path)
}
