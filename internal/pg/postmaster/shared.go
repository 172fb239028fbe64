//go:build unix

package postmaster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// SharedEnv names a folder in which the programs of one run of the tests share what takes long to make, such as
// this package's template: initdb is the longest step of a server's start. The caller makes the folder, so that
// the server's user can enter it, and removes it.
const SharedEnv = "CONCH_TEST_SHARED"

// sharedTemplate returns the folder of the shared template, made by the first program that asks,
// or "" if none is shared or the server's user cannot use it.
func sharedTemplate(ctx context.Context, bin string, acc account) (string, error) {
	// After os.Getenv the go command would keep the result of a test for this folder only.
	shared, _ := syscall.Getenv(SharedEnv)
	if shared == "" || acc.mayEnter(filepath.Dir(shared)) != nil {
		return "", nil
	}
	under := filepath.Join(shared, "postgres")
	if err := os.MkdirAll(under, 0o700); err != nil {
		return "", err
	}
	if acc.mayEnter(shared) != nil || acc.give(under) != nil {
		return "", nil
	}
	lock, err := os.OpenFile(filepath.Join(under, ownerFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	dir := filepath.Join(under, strings.ReplaceAll(strings.Trim(bin, "/"), "/", "-"))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	half, err := os.MkdirTemp(under, unborn+"*")
	if err == nil {
		err = acc.give(half)
	}
	if err == nil {
		err = initdb(ctx, bin, acc, filepath.Join(half, "data"))
	}
	if err == nil {
		err = os.Rename(half, dir)
	}
	if err != nil {
		return "", err
	}
	return dir, nil
}
