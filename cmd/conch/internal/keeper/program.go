package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Runnable returns the path of a program, or why it cannot be run: in words, where the system says of a script that there
// is no such file and means another one.
func Runnable(program string) (path string, err error) {
	path, err = exec.LookPath(program)
	if err == nil {
		err = interpreted(path)
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) { // those around it repeat the name
		err = inner
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be run: %w", program, err)
	}
	return path, nil
}

// notStarted says why the system would not start a program that looked runnable.
func notStarted(program string, err error) error {
	if errors.Is(err, syscall.ENOEXEC) {
		err = errors.New("it is no program of this system, and no script, which begins with #! and an interpreter")
	}
	return fmt.Errorf("%s cannot be run: %w", program, err)
}

// interpreted returns what is wrong with the first line of a script, which names its interpreter; nil if nothing is, or
// the file is no script or cannot be read.
func interpreted(path string) error {
	head := make([]byte, 256)
	if file, err := os.Open(path); err == nil { // a program need not be readable
		n, _ := file.Read(head)
		head, _, _ = bytes.Cut(head[:n], []byte("\n"))
		_ = file.Close()
	}
	line, script := strings.CutPrefix(string(head), "#!")
	words := strings.Fields(line)
	switch {
	case !script || len(words) == 0:
		return nil
	case strings.HasSuffix(line, "\r"):
		return fmt.Errorf("its first line, %q, ends with a carriage return, which becomes part of a name: save it with Unix line ends", head)
	}
	if _, err := os.Stat(words[0]); err != nil {
		return fmt.Errorf("its first line names the interpreter %q, which cannot be used: %v", words[0], errors.Unwrap(err)) //nolint:errorlint // Runnable shows the innermost error
	}
	return nil
}
