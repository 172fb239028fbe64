//go:build unix

package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Find returns the path of a program that is built beside conch: the value of an environment variable, or a file beside
// the given program, or on the PATH; "" if there is none.
func Find(program, name, env string) string {
	if named := os.Getenv(env); named != "" {
		return named
	}
	beside := filepath.Join(filepath.Dir(program), name)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return beside
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return found
}
