package arch

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxLines is the maximum length of a file that is no test.
const maxLines = 400

// shapeless are package names without a subject.
var shapeless = []string{
	"util", "utils", "common", "commons", "types", "helper", "helpers", "misc", "lib", "base", "shared",
}

// machinePath matches folders of one developer's machine.
var machinePath = regexp.MustCompile(`(?:^|[^\w./~*-])(/(?:root|work|home/\w+|Users/\w+)/|[A-Z]:\\Users\\)`)

// machinePathParts are in each line that machinePath or privateSource matches.
var machinePathParts = []string{"root/", "work/", "home/", "Users/", `:\`, "http"}

// privateSource matches a registry or proxy that may exist in one network only.
var privateSource = regexp.MustCompile(`(?:(?i:GOPROXY|registry|index-url))\s*=\s*"?https?://`)

func houseRules() []wall {
	long := strings.Repeat("// line\n", maxLines) + "package fence\n"
	return []wall{
		{
			name: "7 names say what a package is", check: checkNames,
			why: "a package whose name has no subject collects code of every kind",
			breaches: []breach{
				{"a package", rooms(pkg{path: "./election/clock", name: "util", doc: "Package util …"}), "./election/clock is called util"},
				{"a folder", rooms(room("./internal/helpers/clock")), "a folder called helpers"},
			},
		},
		{
			name: "every package says what it is", check: checkComments,
			why:      "the package comment is the first text that a reader sees",
			breaches: []breach{{"silent", rooms(pkg{path: "./gossip", name: "gossip"}), "./gossip has no package comment"}},
		},
		{
			name: "files stay short", check: checkLength,
			why:      "a file over 400 lines should be two files; 150 lines are usual",
			breaches: []breach{{"long", sources(file{"fence/gate.go", long}), "fence/gate.go has 401 lines"}},
		},
		{
			name: "no path of a build machine", check: checkMachinePaths,
			why: "a path of one machine does not exist on another",
			breaches: []breach{
				{"a home", sources(file{"docs/run.md", "see /ho" + "me/ann/conch\n"}), "docs/run.md:1 names /ho" + "me/ann/"},
				{"quoted", sources(file{"Makefile", "\n\tx=\"/ro" + "ot/go/bin\"\n"}), "Makefile:2 names /ro" + "ot/"},
				{"a drive", sources(file{"run.txt", "C:" + `\Users\ann`}), "run.txt:1 names"},
				{"a proxy", sources(file{"scripts/x.sh", "GOPROXY=" + "http://cache.local\n"}), "scripts/x.sh:1 names"},
			},
		},
		{
			name: "tests never sleep in real time", check: checkSleeps,
			why: "a sleep is too short on a busy machine and too long on an idle one: wait for the event, or use testing/synctest",
			breaches: []breach{
				{"a sleep", sources(file{"pending/x_test.go", "package pending\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n"}), "pending/x_test.go:5 sleeps"},
			},
		},
		{
			name: "patterns are compiled when they are needed", check: checkPatterns,
			why: "every process of conch would fill 2 to 60 kB for each pattern that is linked: internal/pattern compiles it at its first use",
			breaches: []breach{
				{"a variable", sources(file{"pending/x.go", "package pending\n\nimport \"regexp\"\n\nvar x = regexp.MustCompile(`a`)\n"}), "pending/x.go:5 compiles"},
				{"in a list", sources(file{"pending/x.go", "package pending\n\nimport \"regexp\"\n\nvar x = []any{regexp.MustCompile(`a`)}\n"}), "pending/x.go:5 compiles"},
			},
		},
		{
			name: "a test is a bubble or on Postgres", check: checkBubbles,
			why: "the time of a synctest bubble stands still while a goroutine waits for a socket",
			breaches: []breach{{"both", sources(file{
				"pending/x_test.go",
				"package pending\n\nimport (\n_ \"testing/synctest\"\n_ \"" + modulePath + "/internal/pg/pgtest\"\n)\n",
			}), "pending/x_test.go imports both"}},
		},
	}
}

func checkNames(h house) (complaints []string) {
	for _, p := range h.packages {
		if slices.Contains(shapeless, strings.TrimSuffix(p.name, "_test")) {
			complaints = append(complaints, p.path+" is called "+p.name)
			continue
		}
		for part := range strings.SplitSeq(p.path, "/") {
			if slices.Contains(shapeless, part) {
				complaints = append(complaints, p.path+" is in a folder called "+part)
			}
		}
	}
	return complaints
}

func checkComments(h house) (complaints []string) {
	for _, p := range h.packages {
		if strings.TrimSpace(p.doc) == "" {
			complaints = append(complaints, p.path+" has no package comment")
		}
	}
	return complaints
}

func checkLength(h house) (complaints []string) {
	for _, f := range h.files {
		generated := strings.HasPrefix(f.text, "// Code generated ")
		if path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || generated {
			continue
		}
		if lines := strings.Count(f.text, "\n"); lines > maxLines {
			complaints = append(complaints, fmt.Sprintf("%s has %d lines", f.path, lines))
		}
	}
	return complaints
}

func checkMachinePaths(h house) (complaints []string) {
	for _, f := range h.files {
		if path.Base(f.path) == "go.sum" {
			continue // sums only, and long
		}
		number := 0
		for line := range strings.Lines(f.text) {
			number++
			if !slices.ContainsFunc(machinePathParts, func(part string) bool { return strings.Contains(line, part) }) {
				continue // quicker than an expression
			}
			found := privateSource.FindString(line)
			if match := machinePath.FindStringSubmatch(line); match != nil {
				found = match[1]
			}
			if found != "" {
				complaints = append(complaints, fmt.Sprintf("%s:%d names %s", f.path, number, found))
			}
		}
	}
	return complaints
}

// checkSleeps allows sleep in a file that imports synctest, where it moves the virtual
// clock. Tests with a real server are never in such a file.
func checkSleeps(h house) (complaints []string) {
	for _, f := range h.files {
		if !strings.HasSuffix(f.path, "_test.go") || !strings.Contains(f.text, "Sleep") {
			continue
		}
		fset, parsed, err := f.parse()
		if err != nil || localName(parsed, "testing/synctest") != "" {
			continue
		}
		clock := localName(parsed, "time")
		ast.Inspect(parsed, func(node ast.Node) bool {
			if s, ok := node.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" && isIdent(s.X, clock) {
				complaints = append(complaints, fmt.Sprintf("%s:%d sleeps", f.path, fset.Position(s.Pos()).Line))
			}
			return true
		})
	}
	return complaints
}

// checkPatterns finds patterns that are compiled before main. The laboratory is another program, and examples import nothing internal.
func checkPatterns(h house) (complaints []string) {
	for _, f := range h.files {
		folder := "./" + path.Dir(f.path)
		if !strings.HasSuffix(f.path, ".go") || strings.HasSuffix(f.path, "_test.go") || !strings.Contains(f.text, "regexp") ||
			isTestRoom(folder) || insideAny(folder, []string{lab, "./examples", "./bench"}) {
			continue
		}
		fset, parsed, err := f.parse()
		if err != nil {
			continue
		}
		library := localName(parsed, "regexp")
		for _, decl := range parsed.Decls {
			if _, is := decl.(*ast.GenDecl); !is {
				continue
			}
			ast.Inspect(decl, func(node ast.Node) bool {
				if s, ok := node.(*ast.SelectorExpr); ok && s.Sel.Name == "MustCompile" && isIdent(s.X, library) {
					complaints = append(complaints, fmt.Sprintf("%s:%d compiles a pattern before main", f.path, fset.Position(s.Pos()).Line))
				}
				_, later := node.(*ast.FuncLit)
				return !later
			})
		}
	}
	return complaints
}

func checkBubbles(h house) (complaints []string) {
	for _, f := range h.files {
		if !strings.HasSuffix(f.path, "_test.go") || !strings.Contains(f.text, "testing/synctest") {
			continue
		}
		_, parsed, err := f.parse()
		if err != nil {
			continue // the compiler reports it
		}
		if localName(parsed, "testing/synctest") != "" && localName(parsed, modulePath+"/internal/pg/pgtest") != "" {
			complaints = append(complaints, f.path+" imports both testing/synctest and pgtest")
		}
	}
	return complaints
}

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

// register is the page with a row for each SQLSTATE of conch.
const register = "docs/operations.md"

var sqlstate = regexp.MustCompile(`\bCN\d{3}\b`)

func sqlstateRules() []wall {
	raises := func(file_, code string) file {
		return file{file_, "RAISE EXCEPTION USING ERRCODE = '" + code + "';\n"}
	}
	known := func(codes ...string) file { return file{register, "| `" + strings.Join(codes, "` |\n| `") + "` |\n"} }
	return []wall{{
		name: "an SQLSTATE means one thing, and is written down", check: checkSQLStates,
		why: "a program can only tell the errors of conch apart by their SQLSTATE",
		breaches: []breach{
			{"not registered", sources(raises("election/pgmint/migrations/1.up.sql", "CN"+"007"), known("CN"+"001")), "migrations/1.up.sql:1 raises CN" + "007, which has no row"},
			{"two wings", sources(raises("election/pgmint/migrations/1.up.sql", "CN"+"001"), raises("pending/pgstore/migrations/1.up.sql", "CN"+"001"), known("CN"+"001")), "CN" + "001 is raised by election and by pending"},
			{"gone", sources(known("CN" + "009")), "nothing raises CN" + "009"},
		},
	}}
}

func checkSQLStates(h house) (complaints []string) {
	written, raised := map[string]bool{}, map[string]string{} // by code: its wing
	for _, f := range h.files {
		if f.path == register {
			for _, code := range sqlstate.FindAllString(f.text, -1) {
				written[code] = true
			}
		}
	}
	for _, f := range h.files {
		if path.Ext(f.path) != ".sql" || !strings.Contains(f.path, "/migrations/") {
			continue
		}
		wing, _, _ := strings.Cut(f.path, "/")
		line := 0
		for text := range strings.Lines(f.text) {
			line++
			if !strings.Contains(text, "ERRCODE") {
				continue
			}
			for _, code := range sqlstate.FindAllString(text, -1) {
				if !written[code] {
					complaints = append(complaints, fmt.Sprintf("%s:%d raises %s, which has no row in %s", f.path, line, code, register))
				}
				if by := raised[code]; by != "" && by != wing {
					complaints = append(complaints, fmt.Sprintf("%s is raised by %s and by %s", code, by, wing))
				}
				raised[code] = wing
			}
		}
	}
	for code := range written {
		if raised[code] == "" {
			complaints = append(complaints, "nothing raises "+code+", which has a row in "+register)
		}
	}
	return complaints
}
