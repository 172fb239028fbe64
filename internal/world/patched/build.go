package patched

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// module is the source's, whose root all patches are below.
const module = "github.com/conchhq/conch"

// Source returns the root of the source of which the current folder is a part.
func Source(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	var said strings.Builder
	cmd.Stderr = &said
	root, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("it needs the go command, and a current folder in conch's source")
	case err != nil:
		return "", fmt.Errorf("it needs a current folder in conch's source: %s", strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(root)), nil
}

// Build has the go command build something of the source with all patches: args are the command and its flags, and at
// their end the package. The go command keeps what it has compiled, and leaves a program alone that is up to date.
func Build(ctx context.Context, root, to string, args ...string) error {
	all, err := patches()
	if err != nil {
		return err
	}
	if to, err = filepath.Abs(to); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "patched")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	list, err := overlay(root, folder, all)
	if err != nil {
		return err
	}
	whole := append([]string{args[0], "-overlay", list, "-o", to, "-ldflags", "-s -w"}, args[1:]...)
	cmd := exec.CommandContext(ctx, "go", whole...)
	cmd.WaitDelay = time.Second
	// The C code below go-ethereum takes a minute to compile. The go command renames what is on the same disk, so that a program
	// is there whole or not at all.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOTMPDIR="+filepath.Dir(to))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the source with its patches does not build: %w\n%s", err, said)
	}
	return nil
}

// Program builds this program with all patches, in the user's cache, and returns its path: with [Env] it leaves a rule out.
func Program(ctx context.Context) (string, error) {
	root, err := Source(ctx)
	if err != nil {
		return "", err
	}
	info, known := debug.ReadBuildInfo()
	if !known {
		return "", errors.New("this program does not know of which package it is")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "conch", "patched")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", err
	}
	to := filepath.Join(folder, path.Base(info.Path))
	return to, Build(ctx, root, to, "build", info.Path)
}
