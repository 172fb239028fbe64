//go:build unix

package postmaster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// TemplateEnv names a folder in which the programs of one run of the tests share one template:
// initdb is the longest step of a server's start. The caller makes the folder and removes it.
const TemplateEnv = "CONCH_PG_TEMPLATE"

// sharedTemplate returns the folder of the shared template, made by the first program that asks,
// or "" if none is shared or the server's user cannot use it.
func sharedTemplate(ctx context.Context, bin string, acc account) (string, error) {
	// After os.Getenv the go command would keep the result of a test for this folder only.
	under, _ := syscall.Getenv(TemplateEnv)
	if under == "" || acc.mayEnter(filepath.Dir(under)) != nil || acc.give(under) != nil {
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
