package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// impure are the imports that a machine must not have, nor any of their subpackages.
var impure = []string{
	"bufio", "context", "crypto/rand", "database/sql", "io", "log", "math/rand", "net", "os",
	"runtime", "sync", "syscall", "testing", "golang.org/x/sys", "github.com/jackc/pgx",
}

// clockCalls are the functions of time that a machine must not call: the time comes
// in with the input.
var clockCalls = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
}

func machineWalls() []wall {
	machine := func(body string) house { return sources(file{"election/machine.go", "package election\n\n" + body}) }
	return []wall{{
		name: "6 machines are pure", check: checkMachines,
		why: "only a machine that depends on nothing but its inputs can be replayed from a seed and proved by a table",
		breaches: []breach{
			{"context", machine("import \"context\"\n\nvar _ context.Context\n"), "election/machine.go:3 imports context"},
			{"rand", machine("import _ \"math/rand/v2\"\n"), "imports math/rand/v2"},
			{"network", machine("import _ \"net/http\"\n"), "imports net/http"},
			{"lock", machine("import _ \"sync/atomic\"\n"), "imports sync/atomic"},
			{"clock", machine("import \"time\"\n\nvar now = time.Now()\n"), "election/machine.go:5 asks time.Now"},
			{"clock as a value", machine("import \"time\"\n\nvar clock = time.Since\n"), "asks time.Since"},
			{"clock by another name", machine("import t \"time\"\n\nvar c = t.After(1)\n"), "asks time.After"},
			{"clock without a name", machine("import . \"time\"\n\nvar c = Now()\n"), "hides time behind a dot"},
			{"goroutine", machine("func f() { go f() }\n"), "election/machine.go:3 starts a goroutine"},
			{"select", machine("func f(c chan int) {\n\tselect {\n\tcase <-c:\n\t}\n}\n"), "election/machine.go:4 waits"},
			{"a method elsewhere", sources(file{"election/loop.go", "package election\n\ntype Machine struct{}\n\nfunc (m *Machine) leads() {}\n"}), "election/loop.go:5 has a method of the machine"},
			{"a method of an unexported one", sources(file{"txlog/vote.go", "package txlog\n\nfunc (machine) f() {}\n"}), "txlog/vote.go:3 has a method of the machine"},
			{"a second file", sources(file{"txlog/machine_vote.go", "package txlog\n\nfunc f() { go f() }\n"}), "txlog/machine_vote.go:3 starts"},
			{"a core", sources(file{"election/core_term.go", "package election\n\nfunc f() { go f() }\n"}), "election/core_term.go:3 starts"},
			{"a package that is a core", sources(file{"sequencer/internal/core/fetch.go", "package core\n\nimport \"context\"\n\nvar _ context.Context\n"}), "sequencer/internal/core/fetch.go:3 imports context"},
			{"a method of a core elsewhere", sources(file{"gossip/loop.go", "package gossip\n\nfunc (c *Core) f() {}\n"}), "gossip/loop.go:3 has a method of the core"},
			{"a core that writes a log", sources(file{"sequencer/internal/core/fetch.go", "package core\n\nimport \"log/slog\"\n\nfunc f() { slog.Info(\"x\") }\n"}), "sequencer/internal/core/fetch.go:5 asks slog.Info"},
		},
	}}
}

func sources(files ...file) house { return house{files: files} }

// isMachine reports whether the file must be pure: machine.go and machine_*.go, core.go and core_*.go, and all of a package core.
func isMachine(name string) bool {
	base, is := strings.CutSuffix(path.Base(name), ".go")
	first, _, _ := strings.Cut(base, "_")
	return is && (first == "machine" || first == "core" || path.Base(path.Dir(name)) == "core") && !strings.HasSuffix(base, "_test")
}

func checkMachines(h house) (complaints []string) {
	for _, f := range h.files {
		if isMachine(f.path) {
			complaints = append(complaints, checkMachine(f)...)
		} else if strings.HasSuffix(f.path, ".go") && !strings.HasSuffix(f.path, "_test.go") {
			complaints = append(complaints, checkMethods(f)...)
		}
	}
	return complaints
}

// checkMethods finds methods of a machine or a core in files that need not be pure.
func checkMethods(f file) (complaints []string) {
	fset, parsed, err := f.parse()
	if err != nil {
		return nil // the compiler reports it
	}
	for _, decl := range parsed.Decls {
		method, ok := decl.(*ast.FuncDecl)
		if !ok || method.Recv == nil {
			continue
		}
		of := method.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		for _, is := range []string{"machine", "core"} {
			if isIdent(of, is) || isIdent(of, strings.ToUpper(is[:1])+is[1:]) {
				complaints = append(complaints, fmt.Sprintf("%s:%d has a method of the %s: its file is %s.go, or %s_….go", f.path, fset.Position(method.Pos()).Line, is, is, is))
			}
		}
	}
	return complaints
}

func checkMachine(f file) (complaints []string) {
	fset, parsed, err := f.parse()
	if err != nil {
		return []string{err.Error()}
	}
	complain := func(node ast.Node, what string) {
		complaints = append(complaints, fmt.Sprintf("%s:%d %s", f.path, fset.Position(node.Pos()).Line, what))
	}
	for _, spec := range parsed.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if insideAny(imported, impure) && imported != "log/slog" {
			complain(spec, "imports "+imported)
		}
		if imported == "time" && spec.Name != nil && spec.Name.Name == "." {
			complain(spec, "hides time behind a dot")
		}
	}
	clock, log := localName(parsed, "time"), localName(parsed, "log/slog")
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			complain(n, "starts a goroutine")
		case *ast.SelectStmt:
			complain(n, "waits in a select")
		case *ast.SelectorExpr:
			if slices.Contains(clockCalls, n.Sel.Name) && isIdent(n.X, clock) {
				complain(n, "asks time."+n.Sel.Name)
			}
			if isIdent(n.X, log) && !strings.HasPrefix(n.Sel.Name, "Level") { // how much a word counts is no writing
				complain(n, "asks slog."+n.Sel.Name)
			}
		}
		return true
	})
	return complaints
}

// parse parses a file, once for all walls.
func (f file) parse() (*token.FileSet, *ast.File, error) {
	if known, is := parsedFiles.Load(f); is {
		p := known.(parsedFile)
		return p.fset, p.file, p.err
	}
	p := parsedFile{fset: token.NewFileSet()}
	p.file, p.err = parser.ParseFile(p.fset, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
	parsedFiles.Store(f, p)
	return p.fset, p.file, p.err
}

type parsedFile struct {
	fset *token.FileSet
	file *ast.File
	err  error
}

var parsedFiles sync.Map // file → parsedFile

// localName returns the name of an import in a file, "" if the file does not import it.
func localName(parsed *ast.File, importPath string) string {
	for _, spec := range parsed.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); imported != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func isIdent(expr ast.Expr, name string) bool {
	ident, ok := expr.(*ast.Ident)
	return ok && name != "" && ident.Name == name
}
