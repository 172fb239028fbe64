package arch

import (
	"fmt"
	"regexp"
	"strings"
)

// passages are the files that touch stdout and stderr themselves: one makes the outlet, the others hand a command its own.
var passages = []string{"cmd/conch/internal/cli/shell.go", "cmd/conch/internal/cli/conductor.go", "cmd/conch/internal/service/roles/command_unix.go"}

// aside matches what prints beside the outlet, or beside the functions that keep others' words in their line and their cell.
var aside = regexp.MustCompile(`os\.Std(?:out|err)\b|\bfmt\.Print|(?:Fprint\w*|WriteString)\(\w+\.Std(?:out|err)\b|\bfmt\.Sprintf\("[^"]*\\t|\bprintln\(`)

// printer is the file of those functions.
const printer = "cmd/conch/internal/cli/print.go"

func outletRules() []wall {
	in := func(name, line string) house { return sources(file{name, "package x\n\nfunc f() { " + line + " }\n"}) }
	const service, frame = "cmd/conch/internal/service/files/show.go", "cmd/conch/internal/cli/show.go"
	return []wall{{
		name: "words leave by the outlet", check: checkOutlet,
		why: "what others have written clears a screen or forges a line, unless Line, Say, Fields, Row and Table of cli have it in hand",
		breaches: []breach{
			{"stdout", in(service, "os.Stdout.Write(nil)"), service + ":3 prints by os.Stdout"},
			{"print", in(frame, `fmt.Println("x")`), frame + ":3 prints by fmt.Print"},
			{"a writer", in(service, `fmt.Fprintf(a.Stderr, "%s", x)`), service + ":3 prints by Fprintf(a.Stderr"},
			{"a row", in(service, `fmt.Sprintf("%s\t%s", x, y)`), service + `:3 prints by fmt.Sprintf("%s\t`},
			{"built in", in(frame, `println(x)`), frame + ":3 prints by println("},
		},
	}}
}

func checkOutlet(h house) (complaints []string) {
	for _, f := range h.files {
		known := f.path == printer || strings.HasSuffix(f.path, "_test.go") || !strings.HasSuffix(f.path, ".go")
		for _, passage := range passages {
			known = known || f.path == passage
		}
		if known || !strings.HasPrefix(f.path, "cmd/conch/internal/") || strings.HasPrefix(f.path, strings.TrimPrefix(lab, "./")) {
			continue
		}
		for number, line := range numbered(f.text) {
			if found := aside.FindString(line); found != "" {
				complaints = append(complaints, fmt.Sprintf("%s:%d prints by %s", f.path, number, found))
			}
		}
	}
	return complaints
}
