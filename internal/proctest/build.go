//go:build unix

package proctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// SharedEnv names a folder in which the packages of one run of the tests share what takes long to make. Package
// postmaster has it too, for the template of its servers.
const SharedEnv = "CONCH_TEST_SHARED"

// building bounds a build, which may take minutes.
const building = 10 * time.Minute

// Build compiles the program in a folder and returns its path, which ends in name. If
// [SharedEnv] names a folder, the first package of a run that asks builds it for all. Else it is beside
// the test's own binary, whose folder the go command removes; Git ignores the suffix .test.
func Build(name, folder string, flags ...string) (string, error) {
	dir := filepath.Dir(os.Args[0])
	// After os.Getenv the go command would keep the result of a test for this folder only.
	if shared, _ := syscall.Getenv(SharedEnv); shared != "" {
		dir = filepath.Join(shared, "programs")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join(dir, name+".test"))
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), building)
	defer cancel()
	args := append(append([]string{"build", "-o", path}, flags...), ".")
	build := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the path is of this test's own folder
	build.Dir, build.WaitDelay = folder, time.Second
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", folder, err, out)
	}
	return path, nil
}
