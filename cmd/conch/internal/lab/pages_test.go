package lab_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab"
	"github.com/conchhq/conch/cmd/conch/internal/service"
)

var (
	inLine  = regexp.MustCompile("`((?:bin/)?conch(?:-lab)? [^`]+)`")
	inCode  = regexp.MustCompile(`(?:^|^\$ |&& |\| |do |\|\| |\$\()((?:bin/)?conch(?:-lab)? [^;&|)]*)`)
	command = regexp.MustCompile(`^[a-z][a-z|-]*$`)
	flag    = regexp.MustCompile(`^--[a-z][a-z0-9-]*`)
)

// Every command that a page shows is there, with every flag that is shown with it.
func TestPagesShowCommandsThatExist(t *testing.T) {
	t.Parallel()
	const root = "../../../../"
	shown, helps := 0, map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.service", "deploy/*.yaml"} {
		pages, err := filepath.Glob(filepath.FromSlash(root + pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, page := range pages {
			for _, line := range commandsOf(t, page) {
				shown++
				if fault := faultOf(helps, line); fault != "" {
					t.Errorf("%s shows %q, and %s", strings.TrimPrefix(filepath.ToSlash(page), root), line, fault)
				}
			}
		}
	}
	if shown < 150 {
		t.Errorf("found only %d commands on the pages, want 150 or more: do the patterns still match?", shown)
	}
}

// commandsOf returns the commands in the code of a page.
func commandsOf(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var prose strings.Builder // where code may go on in the next line
	code := false
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code:
			line, _, _ = strings.Cut(line, " #")
			for _, found := range inCode.FindAllStringSubmatch(line, -1) {
				all = append(all, found[1])
			}
		default:
			prose.WriteString(line + " ")
		}
	}
	for _, found := range inLine.FindAllStringSubmatch(prose.String(), -1) {
		all = append(all, found[1])
	}
	return all
}

// faultOf says what is wrong with a command, by the help of the program; helps has what was asked before.
func faultOf(helps map[string]string, line string) string {
	program, rest, _ := strings.Cut(strings.TrimPrefix(line, "bin/"), " ")
	words := strings.Fields(rest)
	for len(words) > 1 && flag.MatchString(words[0]) && !strings.Contains(words[0], "=") { // those of every command: --db URL
		words = words[2:]
	}
	name, help := program, ""
	for len(words) > 0 && command.MatchString(words[0]) && (help == "" || strings.Contains(help, "Available Commands:")) {
		for one := range strings.SplitSeq(words[0], "|") {
			if help = helpOf(helps, name+" "+one); !strings.Contains(help, "Usage:\n  ") || !strings.Contains(help, " "+one) {
				return "there is no " + name + " " + one
			}
		}
		name, words = name+" "+words[0], words[1:]
	}
	for _, word := range words {
		if word == "--" {
			break
		}
		if one := flag.FindString(word); one != "" && help != "" && !strings.Contains(help, one+" ") {
			return name + " has no " + one
		}
	}
	return ""
}

// helpOf returns the help of a command, or nothing if there is none of that name.
func helpOf(helps map[string]string, name string) string {
	if known, is := helps[name]; is {
		return known
	}
	words := strings.Fields(name)
	program := cli.Conch(cli.Build{}, service.Kinds(), service.Commands()...)
	if words[0] == "conch-lab" || slices.Contains([]string{"bench", "chaos", "demo", "sim"}, words[1]) { // conch has conch-lab do these
		program = lab.Program(cli.Build{}, service.Kinds())
	}
	var out bytes.Buffer
	world := cli.World{Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	if cli.Main(append(words[1:], "--help"), world, program) != 0 {
		out.Reset()
	}
	helps[name] = out.String()
	return out.String()
}
