//go:build unix

package postmaster

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Superuser owns every private cluster. It needs no password, since the socket is private.
const Superuser = "conch"

// templates keeps one new cluster per program, which the first Start makes and every
// Start copies: initdb takes 0.4 to 1 s, a copy in memory a tenth of that. It is removed when
// the last server of the program stops, unless programs share it.
var templates struct {
	sync.Mutex
	dir   string
	owner *os.File // nil if programs share the template
	users int
}

func newCluster(ctx context.Context, bin string, acc account, data string) error {
	templates.Lock()
	defer templates.Unlock()
	if templates.dir == "" {
		if err := makeTemplate(ctx, bin, acc); err != nil {
			return err
		}
	}
	templates.users++
	if err := copyTree(filepath.Join(templates.dir, "data"), data, acc); err != nil {
		return fmt.Errorf("copying the cluster: %w", err)
	}
	return nil
}

// makeTemplate makes the template, or finds the shared one. The caller holds the lock.
func makeTemplate(ctx context.Context, bin string, acc account) error {
	shared, err := sharedTemplate(ctx, bin, acc)
	if err != nil || shared != "" {
		templates.dir = shared
		return err
	}
	under, err := base(acc)
	if err != nil {
		return err
	}
	dir, owner, err := lockedFolder(under)
	if err != nil {
		return err
	}
	if err = acc.give(dir); err == nil {
		err = initdb(ctx, bin, acc, filepath.Join(dir, "data"))
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		_ = owner.Close()
		return err
	}
	templates.dir, templates.owner = dir, owner
	return nil
}

func leaveTemplate() error {
	templates.Lock()
	defer templates.Unlock()
	templates.users--
	if templates.users > 0 || templates.owner == nil {
		return nil
	}
	err := os.RemoveAll(templates.dir)
	_ = templates.owner.Close()
	templates.dir, templates.owner = "", nil
	return err
}

func initdb(ctx context.Context, bin string, acc account, data string) error {
	_, err := tool(ctx, bin, acc, "initdb", "-D", data, "-U", Superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	return err
}

// tool runs one of the server's programs as the server's user and returns its output.
func tool(ctx context.Context, bin string, acc account, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.SysProcAttr = acc.attributes()
	cmd.WaitDelay = stragglers // initdb and pg_basebackup have children with the same output
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s failed (%w): %s", name, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// environment keeps the caller's PGDATA, PGPORT, LC_* and the like from the server.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

func copyTree(from, to string, acc account) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			err = os.Mkdir(target, 0o700) // the server refuses a wider mode
		} else {
			err = copyFile(path, target)
		}
		if err != nil {
			return err
		}
		return acc.give(target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}
