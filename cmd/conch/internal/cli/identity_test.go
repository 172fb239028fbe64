package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ran is the outcome of a command line.
type ran struct {
	out, err string
	code     int
}

func execute(args ...string) ran {
	var out, complaint bytes.Buffer
	code := Main(args, World{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaint, Getenv: func(string) string { return "" }}, Conch(Build{}, nil))
	return ran{out.String(), complaint.String(), code}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "node.pem")
	made := execute("identity", "new", "--file", file)
	key := regexp.MustCompile(`(?m)^  key = "(sha256:[0-9a-f]{64})"$`).FindStringSubmatch(made.out)
	if made.code != 0 || key == nil || made.err != "" {
		t.Fatalf("new: %+v; want a line for [[peers]]", made)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, error %v; want mode 0600", info, err)
	}
	if shown := execute("identity", "show", "--file", file); shown.out != key[1]+"\n" || shown.code != 0 {
		t.Errorf("show: %+v; want %s", shown, key[1])
	}
	before, _ := os.ReadFile(file)
	again := execute("identity", "new", "--file", file)
	if after, _ := os.ReadFile(file); again.code != Failed || !strings.Contains(again.err, "never overwritten") || !bytes.Equal(before, after) {
		t.Errorf("a second new: %+v; want it refused", again)
	}
	var said struct{ File, Key string }
	if shown := execute("identity", "show", "--file", file, "--json"); json.Unmarshal([]byte(shown.out), &said) != nil || said.Key != key[1] || said.File != file {
		t.Errorf("show --json: %+v", shown)
	}
	if made := execute("identity", "new", "--file", file+"2", "--json"); json.Unmarshal([]byte(made.out), &said) != nil || said.Key == key[1] || said.File != file+"2" {
		t.Errorf("new --json: %+v", made)
	}
}

func TestIdentityRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	open := filepath.Join(folder, "open.pem")
	made := execute("identity", "new", "--file", open)
	if err := os.Chmod(open, 0o644); err != nil || made.code != 0 {
		t.Fatal(err, made)
	}
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"identity", "new, show", wrong},
		{"identity keygen", `unknown command "keygen"`, wrong},
		{"identity create", "did you mean new?", wrong},
		{"keygen", "did you mean identity?", wrong},
		{"identity new x.pem", "takes no argument", wrong},
		{"identity show --file " + folder + "/none.pem", "conch identity new --file " + folder + "/none.pem", wrong},
		{"identity show --file " + open, "chmod 600 " + open, Failed},
		{"identity show --file " + folder, folder, Failed},
		{"identity new --file " + folder + "/none/x.pem", "no such file or directory", Failed},
	} {
		if r := execute(strings.Fields(c.args)...); r.code != c.code || !strings.Contains(r.err, c.says) || r.out != "" || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: %+v; want code %d and a line with %q", c.args, r, c.code, c.says)
		}
	}
	for _, command := range []string{"identity", "identity new", "identity show"} {
		if r := execute(append(strings.Fields(command), "--help")...); r.code != 0 || !strings.Contains(r.out, "Examples:\n  conch identity ") {
			t.Errorf("%s --help: %+v; want an example", command, r)
		}
	}
}
