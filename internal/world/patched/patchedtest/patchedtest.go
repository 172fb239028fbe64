// Package patchedtest runs tests in a build of their package that leaves a rule out by a patch.
package patchedtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/world/patched"
)

// limit bounds the run of one test.
const limit = 5 * time.Minute

// Elsewhere runs the test t in the build that leaves a rule out, and reports whether it did; the test fails if it fails there. It
// does nothing, so that the test goes on here, where the world breaks the rule, and there.
func Elsewhere(t *testing.T, rule string) bool {
	t.Helper()
	if !patched.Breaks(rule) || patched.Out() == rule {
		return false
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if said := run(t, here, t.Name(), rule); !strings.Contains(said, "--- PASS: "+t.Name()+" ") {
		t.Errorf("without %s:\n%s", rule, said)
	}
	return true
}

// Holds runs a test of a package, which is in a folder below the source's root, in the build that leaves a rule out. It must pass there, and not be
// skipped: it is a story of a machine without the rule (storytest.Break).
func Holds(t *testing.T, folder, test, rule string) { outcome(t, folder, test, rule, "PASS") }

// Falls runs a test of a package, which is in a folder below the source's root, in the build that leaves a rule out. It must fail there.
func Falls(t *testing.T, folder, test, rule string) { outcome(t, folder, test, rule, "FAIL") }

func outcome(t *testing.T, folder, test, rule, want string) {
	t.Helper()
	root, err := patched.Source(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if said := run(t, filepath.Join(root, filepath.FromSlash(folder)), test, rule); !strings.Contains(said, "--- "+want+": "+test+" ") {
		t.Errorf("without %s, %s of %s has not come to %s:\n%s", rule, test, folder, want, said)
	}
}

// run runs a test and returns what it says.
func run(t *testing.T, folder, test, rule string) string {
	t.Helper()
	program, err := build(t, folder)
	if err != nil {
		t.Fatal(err)
	}
	var levels []string
	for level := range strings.SplitSeq(test, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run", strings.Join(levels, "/"), fmt.Sprint("-test.short=", testing.Short()))
	cmd.Dir = folder
	cmd.Env = append(cmd.Environ(), patched.Env+"="+rule)
	said, _ := proctest.Output(t, cmd, limit)
	return said
}

var builds = struct {
	sync.Mutex
	by map[string]func() (string, error)
}{by: map[string]func() (string, error){}}

// build builds the tests of the package in a folder, once, beside the binary of this test, whose folder the go command removes.
func build(t *testing.T, folder string) (string, error) {
	builds.Lock()
	once := builds.by[folder]
	if once == nil {
		to := filepath.Join(filepath.Dir(os.Args[0]), fmt.Sprintf("patched%d.test", len(builds.by)))
		once = sync.OnceValues(func() (string, error) {
			root, err := patched.Source(t.Context())
			if err != nil {
				return "", err
			}
			return to, patched.Build(t.Context(), root, to, "test", "-c", "-vet=off", folder)
		})
		builds.by[folder] = once
	}
	builds.Unlock()
	return once()
}
