package arch

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// glossary is the page with the words of the house; below the heading avoided are those not to use.
const glossary, avoided = "docs/glossary.md", "## Words to avoid"

var (
	glossaryRow = regexp.MustCompile(`^\| ([a-z][^|]*?) \| ([^|]+?) \|([^|]*)\|`) // heads begin with a capital
	inCode      = regexp.MustCompile("`([^`]+)`")
)

func glossaryRules() []wall {
	tree := func(rows string) house {
		return sources(file{"fence/gate.go", "package fence\n\ntype Gate struct{}\n\nfunc (Gate) AllWishes() {}\n"}, file{glossary, "|---|---|---|\n" + rows})
	}
	return []wall{{
		name: "the glossary and the code agree", check: checkGlossary,
		why: "a reader follows a word of the glossary into the code, and expects one word for one thing",
		breaches: []breach{
			{"no such type", tree("| door | opens | `fence.Door` |\n"), "glossary.md:2 places door at fence.Door, which is not there"},
			{"no such folder", tree("| door | opens | `doors` |\n"), "places door at doors"},
			{"nowhere", tree("| door | opens | |\n"), "glossary.md:2 places door nowhere"},
			{"not sorted", tree("| gate | shuts | `fence` |\n| act | ends | `fence` |\n"), "glossary.md:3 has act after gate"},
			{"twice", tree("| gate | shuts | `fence` |\n| gate | opens | `fence.Gate` |\n"), "has gate after gate"},
			{"a word to avoid", tree(avoided + "\n| wish | intent | `pending` |\n"), "fence/gate.go:5 exports AllWishes: say intent, not wish"},
		},
	}}
}

func checkGlossary(h house) (complaints []string) {
	text, there := "", map[string]string{} // by "fence" or "fence.Gate": file and line
	for _, f := range h.files {
		there[path.Dir(f.path)] = f.path
		for name, line := range f.exports() {
			there[path.Dir(f.path)+"."+name] = fmt.Sprintf("%s:%d", f.path, line)
		}
		if f.path == glossary {
			text = f.text
		}
	}
	before, avoiding := "", false
	for line, row := range numbered(text) {
		avoiding = avoiding || strings.HasPrefix(row, avoided)
		cells := glossaryRow.FindStringSubmatch(row)
		if cells == nil {
			continue
		}
		word, places := cells[1], inCode.FindAllStringSubmatch(cells[3], -1)
		if avoiding {
			stem := strings.ToUpper(word[:1]) + word[1:]
			named := regexp.MustCompile(stem + `(e?s)?([A-Z0-9]|$)`)
			for at, where := range there {
				if !strings.Contains(at, stem) {
					continue // quicker than an expression
				}
				if name := path.Ext(at); named.MatchString(name) && !strings.Contains(cells[3], "`"+path.Dir(where)+"`") {
					complaints = append(complaints, fmt.Sprintf("%s exports %s: say %s, not %s", where, name[1:], cells[2], word))
				}
			}
			continue
		}
		if len(places) == 0 {
			complaints = append(complaints, fmt.Sprintf("%s:%d places %s nowhere", glossary, line, word))
		}
		for _, place := range places {
			if there[place[1]] == "" {
				complaints = append(complaints, fmt.Sprintf("%s:%d places %s at %s, which is not there", glossary, line, word, place[1]))
			}
		}
		if word <= before {
			complaints = append(complaints, fmt.Sprintf("%s:%d has %s after %s", glossary, line, word, before))
		}
		before = word
	}
	return complaints
}

// exports returns the lines of the exported names that a file of the workspace declares.
func (f file) exports() map[string]int {
	fset, parsed, err := f.parse()
	if path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || err != nil || insideAny(f.path, outside) {
		return nil
	}
	names := map[string]int{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.BlockStmt, *ast.SelectorExpr, *ast.CompositeLit:
			return false // uses of names, not declarations
		case *ast.Ident:
			if n.IsExported() {
				names[n.Name] = fset.Position(n.Pos()).Line
			}
		}
		return true
	})
	return names
}
