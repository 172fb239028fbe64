package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

const (
	binary = "./cmd/conch"
	lab    = "./cmd/conch/internal/lab"
)

// judges are the rooms of the laboratory that tests of the product may import: three judge, and skew turns a clock.
var judges = []string{lab + "/evidence", lab + "/explorer", lab + "/pgaccount", lab + "/skew"}

func labWalls() []wall {
	const takes = "package main\n\nimport (\n\t\"" + modulePath + "/cmd/conch/internal/lab\"\n)\n\nvar a = lab.Commands\n"
	return []wall{
		{
			name: "1 no room of the product knows the laboratory", check: checkLab,
			why: "users have to trust the code that they run, so it must not include code that only demonstrates or measures",
			breaches: []breach{
				{"a room", rooms(room("./cmd/conch/internal/web", lab+"/fleet")), "./cmd/conch/internal/web must not import " + lab + "/fleet"},
				{"a judge in code that ships", rooms(room("./cmd/conch/internal/node", lab+"/evidence")), "./cmd/conch/internal/node must not import"},
				{"cli takes the commands itself", rooms(room("./cmd/conch/internal/cli", lab)), "./cmd/conch/internal/cli must not import " + lab},
				{"the binary looks further in", rooms(room(binary, lab+"/chaos")), "./cmd/conch must not import " + lab + "/chaos"},
				{"a test", rooms(room("./cmd/conch/internal/keeper").tested(lab + "/worker")), "the tests of ./cmd/conch/internal/keeper must not import"},
				{"a test of the commands", rooms(room(binary).tested(lab)), "the tests of ./cmd/conch must not import " + lab},
			},
		},
		{
			name: "1 one line brings the laboratory in", check: checkLabLine,
			why: "a build without the laboratory then leaves out one line",
			breaches: []breach{
				{"two lines", sources(file{"cmd/conch/main.go", takes + "var b = lab.Other\n"}), "cmd/conch/main.go:8 takes lab.Other"},
				{"two files", sources(file{"cmd/conch/main.go", takes}, file{"cmd/conch/more.go", takes}), "cmd/conch/more.go:7 takes lab.Commands"},
			},
		},
	}
}

func checkLab(h house) (complaints []string) {
	for _, p := range h.packages {
		if inside(p.path, lab) {
			continue
		}
		for _, to := range p.imports {
			if inside(to, lab) && (p.path != binary || to != lab) {
				complaints = append(complaints, p.path+" must not import "+to)
			}
		}
		for _, to := range p.testImports {
			if inside(to, lab) && !slices.Contains(judges, to) {
				complaints = append(complaints, "the tests of "+p.path+" must not import "+to)
			}
		}
	}
	return complaints
}

// checkLabLine returns every use of the laboratory in main except the first.
func checkLabLine(h house) (complaints []string) {
	taken := false
	for _, f := range h.files {
		if "./"+path.Dir(f.path) != binary || path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		fset, parsed, err := f.parse()
		if err != nil {
			continue // the compiler reports it
		}
		name := localName(parsed, housed(lab))
		ast.Inspect(parsed, func(node ast.Node) bool {
			if s, ok := node.(*ast.SelectorExpr); ok && isIdent(s.X, name) {
				if taken {
					complaints = append(complaints, fmt.Sprintf("%s:%d takes %s.%s", f.path, fset.Position(s.Pos()).Line, name, s.Sel.Name))
				}
				taken = true
			}
			return true
		})
	}
	return complaints
}

func housed(p string) string { return modulePath + strings.TrimPrefix(p, ".") }
