//go:build unix

package main_test

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// aHouse is a small repository with modules like ours, none of which needs the network. "first" requires "second", so the
// order of their names is not that of a release, and "second" requires no other module.
var aHouse = map[string]string{
	"CHANGELOG.md":     "## [0.1.0] - unreleased\n",
	"go.work":          "go 1.26.0\n\nuse (\n\t.\n\t./cmd/conch\n\t./first\n\t./second\n)\n",
	"go.mod":           nested("."),
	"conch.go":         "package conch\n\nconst Name = \"conch \"\n",
	"second/go.mod":    nested("second"),
	"second/second.go": "package second\n\nconst Name = \"conch \"\n",
	"first/go.mod":     nested("first", ".", "second"),
	"first/first.go": "package first\n\nimport (\n\t\"github.com/conchhq/conch\"\n\t\"github.com/conchhq/conch/second\"\n)\n\n" +
		"const Name, Same = second.Name, conch.Name\n",
	"cmd/conch/go.mod": nested("cmd/conch", "first", "second"),
	"cmd/conch/main.go": "package main\n\nimport (\n\t\"os\"\n\t\"runtime/debug\"\n\n\t\"github.com/conchhq/conch/first\"\n)\n\nfunc main() {\n" +
		"\tinfo, _ := debug.ReadBuildInfo()\n\tos.Stdout.WriteString(first.Name + info.Main.Version + \", and more\\n\")\n}\n",
	"bench/peers/go.mod":   nested("bench/peers"),
	"bench/peers/peers.go": "package peers\n",
}

// nested returns the go.mod of a module in a folder, which requires others from their folders.
func nested(folder string, others ...string) string {
	text := "module " + path.Join("github.com/conchhq/conch", folder) + "\n\ngo 1.26.0\n"
	for _, other := range others {
		module := path.Join("github.com/conchhq/conch", other)
		text += "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + strings.Repeat("../", strings.Count(folder, "/")+1) + other + "\n"
	}
	return text
}

// house is a repository in which a release is made.
type house struct {
	t   *testing.T
	dir string
}

func (h house) do(name string, args ...string) (string, error) {
	h.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = h.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GIT_") })
	cmd.Env = append(cmd.Env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@conch.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@conch.example",
		"GIT_CONFIG_GLOBAL=/dev/null", "GOWORK=")
	return proctest.Output(h.t, cmd, building)
}

func (h house) must(name string, args ...string) string {
	h.t.Helper()
	out, err := h.do(name, args...)
	if err != nil {
		h.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

// commits writes files and commits them; an empty one is removed.
func (h house) commits(files map[string]string) {
	h.t.Helper()
	for name, text := range files {
		file := filepath.Join(h.dir, name)
		if text == "" {
			_ = os.Remove(file)
			continue
		}
		_ = os.MkdirAll(filepath.Dir(file), 0o750)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	h.must("git", "add", "-A")
	h.must("git", "commit", "-q", "-m", "a change")
}

func (h house) tags() []string { h.t.Helper(); return strings.Fields(h.must("git", "tag")) }

// refuses wants that a release is refused with words, and changes nothing.
func (h house) refuses(words string, args ...string) {
	h.t.Helper()
	before := h.tags()
	out, err := h.do("scripts/release.sh", args...)
	if err == nil || !strings.Contains(out, words) {
		h.t.Errorf("release %q: %v\n%s\nwant a refusal that says %q", args, err, out, words)
	}
	if after := h.tags(); !slices.Equal(after, before) {
		h.t.Errorf("after a refused release the tags are %q, want %q", after, before)
	}
}

func newHouse(t *testing.T) house {
	t.Helper()
	h := house{t, t.TempDir()}
	script, err := os.ReadFile("../../scripts/release.sh")
	if err != nil {
		t.Fatal(err)
	}
	h.must("git", "init", "-q", "-b", "main")
	files := maps.Clone(aHouse)
	files["scripts/release.sh"] = string(script)
	h.commits(files)
	if err := os.Chmod(filepath.Join(h.dir, "scripts/release.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.must("git", "commit", "-q", "-a", "-m", "it can be run")
	return h
}

// A release is made whole or not at all: a try that fails leaves no tag, so the next one works, and the one after that says
// that all is there.
func TestRelease(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	h := newHouse(t)
	h.refuses("name a version", "0.1.0")
	h.refuses("name a version")
	h.refuses("no heading [0.2.0]", "v0.2.0")
	h.commits(map[string]string{"first/testdata/a:b": "no archive may have this\n"})
	h.refuses("first", "v0.1.0")
	h.commits(map[string]string{"first/testdata/a:b": ""})

	if out := h.must("scripts/release.sh", "--dry-run", "v0.1.0"); !strings.Contains(out, "a dry run") || len(h.tags()) > 0 {
		t.Errorf("a dry run leaves the tags %q and says\n%s", h.tags(), out)
	}
	h.isMade(h.must("scripts/release.sh", "v0.1.0"))
	h.must("git", "tag", "-d", "first/v0.1.0")
	h.isMade(h.must("scripts/release.sh", "v0.1.0"))
	if out := h.must("scripts/release.sh", "v0.1.0"); !strings.Contains(out, "are here already, and hold the same") {
		t.Errorf("a further run says\n%s\nwant that all is there", out)
	}
	h.commits(map[string]string{"conch.go": "package conch\n\nconst Name = \"conch  \"\n"})
	h.refuses("holds something else", "v0.1.0")
	if state := h.must("git", "status", "--porcelain", "--branch"); state != "## main\n" {
		t.Errorf("the releases left %q, want the branch without a change", state)
	}
}

// isMade wants all tags of a house, and that they come in the order in which the modules require each other.
func (h house) isMade(out string) {
	h.t.Helper()
	if want := []string{"cmd/conch/v0.1.0", "first/v0.1.0", "second/v0.1.0", "v0.1.0"}; !slices.Equal(h.tags(), want) {
		h.t.Fatalf("the tags are %q, want %q", h.tags(), want)
	}
	_, push, _ := strings.Cut(out, "git push --atomic origin ")
	order := strings.Fields(push)
	for _, tag := range []string{"v0.1.0", "second/v0.1.0"} {
		if i, j := slices.Index(order, tag), slices.Index(order, "first/v0.1.0"); len(order) != 4 || i < 0 || i > j || order[3] != "cmd/conch/v0.1.0" {
			h.t.Errorf("the tags come in the order %q, want %s before first/v0.1.0, and the command last", order, tag)
		}
	}
	if text := h.must("git", "show", "cmd/conch/v0.1.0:cmd/conch/go.mod"); strings.Contains(text, "=>") || !strings.Contains(text, "/first v0.1.0") {
		h.t.Errorf("the released command has go.mod\n%s\nwant the released modules and no replace", text)
	}
	if h.must("git", "rev-parse", "v0.1.0^{commit}", "second/v0.1.0^{commit}") != strings.Repeat(h.must("git", "rev-parse", "main"), 2) {
		h.t.Error("a module without another of ours is not released as it is")
	}
}

// The whole road of a release, of this very tree: the tags, a proxy made of them, a program for each library that requires
// the released version, and the command as go install makes it.
func TestTheRoadOfARelease(t *testing.T) {
	runtest.NightRun(t)
	t.Parallel()
	h := house{t, t.TempDir()}
	h.must("git", "clone", "-q", "--no-tags", mustAbs(t, "../.."), ".")
	h.must("scripts/release.sh", "v0.1.0")
	if out := h.must("scripts/release.sh", "v0.1.0"); !strings.Contains(out, "hold the same") {
		t.Errorf("a second run says\n%s", out)
	}
	modules := strings.Fields(h.must("go", "list", "-m"))
	if len(modules) < 7 || len(h.tags()) != len(modules) {
		t.Fatalf("the tags are %q, want one for each of %q", h.tags(), modules)
	}
	proxy := proxyOf(h, modules)

	user, bin := house{t, t.TempDir()}, t.TempDir()
	env := []string{
		"GOPROXY=file://" + proxy + ",file://" + strings.TrimSpace(user.must("go", "env", "GOMODCACHE")) + "/cache/download," + strings.TrimSpace(user.must("go", "env", "GOPROXY")),
		"GONOSUMDB=github.com/conchhq/*", "GOFLAGS=-mod=mod -modcacherw", "GOMODCACHE=" + t.TempDir(), "CGO_ENABLED=0", "GOBIN=" + bin, "go",
	}
	for folder, library := range map[string]string{
		"": "election/pgmint", "chain/evm": "chain/evm", "txlog/quorum": "txlog/quorum", "sequencer/evm": "sequencer/evm",
	} {
		user.dir = t.TempDir()
		module := strings.TrimSuffix("github.com/conchhq/conch/"+folder, "/")
		for name, text := range map[string]string{
			"go.mod":  "module example.com/user\n\ngo 1.26.0\n\nrequire " + module + " v0.1.0\n",
			"main.go": "package main\n\nimport _ \"github.com/conchhq/conch/" + library + "\"\n\nfunc main() {}\n",
		} {
			if err := os.WriteFile(filepath.Join(user.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		user.must("env", append(slices.Clone(env), "build", "-trimpath", "-o", "user", ".")...)
	}
	user.dir = t.TempDir()
	for _, name := range []string{"cmd/conch", "cmd/conch/conch-lab", "chain/evm/cmd/conch-devnode", "examples/slots/node"} {
		user.must("env", append(slices.Clone(env), "install", "-trimpath", "github.com/conchhq/conch/"+name+"@v0.1.0")...)
	}
	if says := user.must(filepath.Join(bin, "conch"), "version"); !strings.HasPrefix(says, "conch v0.1.0, schema ") {
		t.Errorf("the installed command says %q, want its version, and no commit, since it knows none", says)
	}
}

// proxyOf makes a proxy of the tags of a repository, as the go command keeps what it has fetched.
func proxyOf(h house, modules []string) (folder string) {
	h.t.Helper()
	cache := h.t.TempDir()
	args := []string{
		"GOMODCACHE=" + cache, "GOPRIVATE=github.com/conchhq", "GOWORK=off", "GOFLAGS=-modcacherw", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.file://" + h.dir + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/conchhq/conch", "go", "mod", "download",
	}
	for _, m := range modules {
		args = append(args, m+"@v0.1.0")
	}
	h.must("env", args...)
	return filepath.Join(cache, "cache", "download")
}

func mustAbs(t *testing.T, relative string) string {
	t.Helper()
	absolute, err := filepath.Abs(relative)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}
