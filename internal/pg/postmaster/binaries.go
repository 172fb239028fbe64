package postmaster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/internal/pattern"
)

// BinEnv names the folder that holds initdb and postgres, and overrides every other place.
const BinEnv = "CONCH_PG_BIN"

// ErrNoBinaries says how to install the server programs. Without create_main_cluster =
// false Debian's package starts a cluster on port 5432.
var ErrNoBinaries = errors.New(`no PostgreSQL server programs found: run "apt-get install postgresql-common", ` +
	`write "create_main_cluster = false" to /etc/postgresql-common/createcluster.conf so that no cluster is started on port 5432, ` +
	`then run "apt-get install postgresql" (macOS: "brew install postgresql@17"), or set ` + BinEnv +
	` to the folder that holds initdb and postgres`)

// places are tried in this order; within a pattern the highest version wins.
var places = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // RHEL and relatives
	"/usr/libexec/postgresql*",  // Alpine
	"/opt/homebrew/opt/postgres*/bin",
	"/usr/local/opt/postgres*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Binaries returns the folder that holds initdb and postgres.
func Binaries(ctx context.Context) (string, error) {
	if dir := os.Getenv(BinEnv); dir != "" {
		if !holdsServer(dir) {
			return "", errors.New(BinEnv + "=" + dir + " does not hold initdb and postgres: name the folder that does, or unset it")
		}
		return dir, nil
	}
	for _, place := range places {
		if dir := highest(place); dir != "" {
			return dir, nil
		}
	}
	ask := exec.CommandContext(ctx, "pg_config", "--bindir")
	ask.WaitDelay = stragglers // on some systems it is a script
	if out, err := ask.Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); holdsServer(dir) {
			return dir, nil
		}
	}
	if file, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(file); err == nil && holdsServer(filepath.Dir(real)) {
			return filepath.Dir(real), nil
		}
	}
	return "", ErrNoBinaries
}

func highest(glob string) string {
	dirs, _ := filepath.Glob(glob) // only a malformed one is an error
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !holdsServer(dir) })
	if len(dirs) == 0 {
		return ""
	}
	return slices.MaxFunc(dirs, func(a, b string) int { return slices.Compare(versionOf(a), versionOf(b)) })
}

var digits = pattern.Of(`\d+`)

// versionOf returns the numbers in a path, so that 9.6 < 14 < 15.
func versionOf(dir string) []int {
	var numbers []int
	for _, word := range digits().FindAllString(dir, -1) {
		n, _ := strconv.Atoi(word)
		numbers = append(numbers, n)
	}
	return numbers
}

func holdsServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}
