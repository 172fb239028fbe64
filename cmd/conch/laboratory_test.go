package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// standing returns a call of a program that stands in a folder of its own, with nothing but a folder on its PATH.
func standing(t *testing.T, file, path string, args ...string) result {
	t.Helper()
	own := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.Link(file, own); err != nil {
		t.Fatal(err)
	}
	cmd := prepared(t, args...)
	cmd.Path, cmd.Args[0] = own, own
	cmd.Env = append(cmd.Env, "PATH="+path)
	return call(t, cmd)
}

// Whatever is the laboratory's is handed on to it, whole and with its exit code; it is looked for beside the program and then on
// the PATH.
func TestTheLaboratoryIsAnotherProgram(t *testing.T) {
	t.Parallel()
	nowhere, there := t.TempDir(), filepath.Dir(laboratory)
	for _, command := range []string{"demo", "chaos", "bench", "sim"} {
		for _, args := range [][]string{{command}, {"--json", command, "--help"}, {"help", command}} {
			standing(t, program, nowhere, args...).refused(t, 2, "conch-lab", "nor on the PATH", "make build", "go install github.com/conchhq/conch/cmd/conch/conch-lab@")
		}
		if help := standing(t, program, there, "help", command).done(t); !strings.Contains(help, "  conch-lab "+command+" [") || !strings.Contains(help, "Examples:") {
			t.Errorf("conch help %s prints %q, want the laboratory's help", command, help)
		}
	}
	standing(t, program, there, "--json", "sim", "election", "--nodes", "0").refused(t, 2, "conch-lab: ", "must be 1 or more")
	if r := standing(t, program, there, "sim", "election", "--json", "--runs", "200", "--break", "strict"); r.code != 1 || !strings.HasPrefix(r.out, "{") {
		t.Errorf("a simulation that is handed on ends with code %d and prints %q", r.code, r.out)
	}
	for _, args := range [][]string{{"demo", "--gossip", "--nodes", "10"}, {"bench", "files"}} {
		standing(t, laboratory, nowhere, args...).refused(t, 2, "conch, whose nodes this runs", "nor on the PATH", "make build")
	}
	if text := standing(t, laboratory, nowhere, "version").done(t); !strings.HasPrefix(text, "conch-lab 9.8.7, commit abcdef0") {
		t.Errorf("the laboratory says %q, want its version", text)
	}
}
