package main_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// NOTICES.md has every module that is linked into the programs, with its version and the text of a known licence, and no
// other. Of go-ethereum it says that only the library is linked, which has another licence than the programs.
func TestNotices(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	linked := map[string][]string{}
	for _, program := range []string{"./cmd/conch", "./cmd/conch/conch-lab", "./chain/evm/cmd/conch-devnode"} {
		for _, cgo := range []string{"0", "1"} {
			for _, module := range linkedModules(t, program, cgo) {
				if name := program[strings.LastIndex(program, "/")+1:]; !slices.Contains(linked[module], name) {
					linked[module] = append(linked[module], name)
				}
			}
		}
	}
	text, err := os.ReadFile("../../NOTICES.md")
	if err != nil {
		t.Fatal(err)
	}
	noted := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || strings.HasPrefix(line, "| module") {
			continue
		}
		noted[strings.TrimPrefix(cells[0], "| ")+" "+cells[1]] = strings.Split(strings.TrimSuffix(cells[4], " |\n"), ", ")
		if cells[2] == "" || strings.Contains(cells[2], "unknown") || cells[3] == "" {
			t.Errorf("NOTICES.md knows no licence of %s: teach scripts/licences.sh its text", cells[0])
		}
		for link := range strings.FieldsSeq(cells[3]) {
			if _, number, _ := strings.Cut(strings.TrimSuffix(link, ")"), "#text-"); !strings.Contains(string(text), "\n### Text "+number+"\n") {
				t.Errorf("NOTICES.md has no text %s for %s", number, cells[0])
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		if !slices.Equal(noted[module], linked[module]) {
			t.Errorf("%s is linked into %q, and NOTICES.md says %q: run scripts/licences.sh, and read what it changes", module, linked[module], noted[module])
		}
		delete(noted, module)
	}
	if len(noted) > 0 {
		t.Errorf("NOTICES.md has modules that are not linked: run scripts/licences.sh: %q", noted)
	}
}

// linkedModules returns the modules of others that a program links, "path version".
func linkedModules(t *testing.T, program, cgo string) (modules []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", program)
	cmd.Dir = "../.."
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "CGO_ENABLED="+cgo)
	out, err := proctest.Output(t, cmd, patience)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "github.com/ethereum/go-ethereum/cmd/") {
			t.Errorf("%s links %s, which is under GPL-3.0", program, words[0])
		}
		if len(words) == 3 && !slices.Contains(modules, words[1]+" "+words[2]) {
			modules = append(modules, words[1]+" "+words[2])
		}
	}
	return modules
}
