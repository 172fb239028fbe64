//go:build unix

package postmaster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	folderPrefix = "conch-pg-"
	unborn       = "conch-new-"
	ownerFile    = "owner"
)

// lockedFolder makes a folder under base. The file "owner" in it is locked while its
// program lives; the kernel unlocks it even after SIGKILL. The folder gets its final
// name only once the lock is held, so removeOrphans never sees one without a lock.
func lockedFolder(base string) (string, *os.File, error) {
	raw, err := os.MkdirTemp(base, unborn+"*")
	if err != nil {
		return "", nil, err
	}
	owner, err := os.OpenFile(filepath.Join(raw, ownerFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(owner.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	dir := filepath.Join(base, folderPrefix+strings.TrimPrefix(filepath.Base(raw), unborn))
	if err == nil {
		err = os.Rename(raw, dir)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(raw))
	}
	return dir, owner, nil
}

// removeOrphans removes what killed programs left under base. After an error the next Start
// tries again.
func removeOrphans(base string, acc account) {
	dirs, _ := filepath.Glob(filepath.Join(base, folderPrefix+"*"))
	for _, dir := range dirs {
		if !ours(dir, acc) {
			continue
		}
		owner, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(owner.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = owner.Close()
	}
}

// ours reports whether the folder is not another user's: every user may write to base.
func ours(dir string, acc account) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || int(stat.Uid) == acc.uid)
}
