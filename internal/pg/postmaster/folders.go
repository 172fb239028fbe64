//go:build unix

package postmaster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// socketPathLimit is the longest path of a socket: 107 bytes on Linux, 103 on BSD and macOS.
const socketPathLimit = 103

// room is the least free space for a cluster in memory: containers often have a
// /dev/shm of 64 MB, which the second WAL segment of a cluster fills.
const room = 768 << 20

// base picks the folder under which private clusters are made.
func base(acc account) (string, error) {
	var faults []error
	for _, dir := range []string{memoryFolder(), os.TempDir(), "/tmp", "/var/tmp"} {
		if dir == "" {
			continue
		}
		err := acc.mayEnter(dir)
		if err == nil {
			return dir, nil
		}
		faults = append(faults, err)
	}
	return "", fmt.Errorf("no folder for a private server: %w", errors.Join(faults...))
}

// place makes the server's home, in the caller's folder if asked names one, and the folder of
// its socket, which is home unless that path is too long for a socket.
func (s *Server) place(asked string) error {
	under, err := base(s.acc)
	if err != nil {
		return err
	}
	removeOrphans(under, s.acc)
	made, owner, err := lockedFolder(under)
	if err != nil {
		return fmt.Errorf("no folder for a private server: %w", err)
	}
	s.folders, s.owner = append(s.folders, made), owner
	s.home, s.socketDir = made, made
	if asked != "" {
		if s.home, err = s.claim(asked); err != nil {
			return err
		}
		s.folders = append(s.folders, s.home)
		if len(filepath.Join(s.home, s.socketName())) <= socketPathLimit {
			s.socketDir = s.home
		}
	}
	if len(filepath.Join(s.socketDir, s.socketName())) > socketPathLimit {
		return fmt.Errorf("%s is too long a path for a Unix socket: set TMPDIR to a shorter one", s.socketDir)
	}
	return s.acc.give(made)
}

// claim takes the caller's folder, which must be missing or empty, since Stop removes it.
func (s *Server) claim(asked string) (string, error) {
	dir, err := filepath.Abs(asked)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("no folder for a private server: %w", err)
	}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(inside) > 0 {
		return "", fmt.Errorf("%s is not empty: a private server needs a new or empty folder, since it is removed at the end", dir)
	}
	if err := s.acc.give(dir); err != nil {
		return "", err
	}
	return dir, s.acc.mayEnter(dir)
}

// Shared makes a folder that the user of a private server can read too, for files that the
// server loads. The caller removes it.
func Shared(pattern string) (string, error) {
	acc, err := serverAccount()
	if err != nil {
		return "", err
	}
	var faults []error
	// Not in memory, where a mount may forbid to execute what the server loads.
	for _, under := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		err := acc.mayEnter(under)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		dir, err := os.MkdirTemp(under, pattern)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		return dir, os.Chmod(dir, 0o755) //nolint:gosec // the server may be another user
	}
	return "", errors.Join(faults...)
}
