//go:build !unix

package cli

import (
	"errors"
	"os/exec"
)

// Become runs another program, and ends as it does.
func Become(w World, path string, args []string) error {
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.Stdin, w.Stdout, w.Stderr
	err := cmd.Run()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		return ExitError(exit.ExitCode())
	}
	return err
}
