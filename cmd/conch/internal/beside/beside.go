// Package beside finds a program that is installed with this one.
package beside

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Find returns the path of a program: of the file beside another one, else of that on the PATH; "" if there is none.
func Find(own, name string) string {
	for _, place := range []string{filepath.Join(filepath.Dir(own), name), name} {
		if found, err := exec.LookPath(place); err == nil {
			return found
		}
	}
	return ""
}

// Named returns the path of a program: the value of an environment variable, else what Find finds.
func Named(env, own, name string) string {
	if named := os.Getenv(env); named != "" {
		return named
	}
	return Find(own, name)
}
