package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// housePlan is the page with the map of the house.
const housePlan = "docs/ARCHITECTURE.md"

var (
	mapRow = regexp.MustCompile("(?m)^\\| `([\\w./-]+)/` \\|")
	// linkedName matches a link from a name to the Go or SQL file that declares it.
	linkedName = regexp.MustCompile("\\[`([\\w.]+)`\\]\\(([^)#\\s]+\\.(?:go|sql))\\)")
)

func mapRules() []wall {
	door := file{"fence/gate.go", "package fence\n\nfunc (g *Gate) Do() {}\n"}
	page := func(text string) file { return file{housePlan, text} }
	return []wall{
		{
			name: "every folder of the root is on the map", check: checkMap,
			why: "a reader does not find a room that the map omits; what is in it, go list says",
			breaches: []breach{
				{"no row", sources(door, page("| folder | holds |\n")), "the map has no row for fence"},
				{"no row for what is below", sources(file{"bench/peers/peers.go", "package peers\n"}, page("| folder | holds |\n")), "the map has no row for bench"},
				{"no folder", sources(door, page("| `fence/` | a gate |\n| `gone/` | nothing |\n")), "the map has a row for gone, which is not there"},
				{"two rows", sources(door, page("| `fence/` | a gate |\n| `fence/` | a door |\n")), "the map has 2 rows for fence"},
			},
		},
		{
			name: "a name that a page links to is there", check: checkLinkedNames,
			why: "a reader follows these links through the code, and each must lead to the named function",
			breaches: []breach{
				{"a method", sources(door, page("| `fence/` |\n[`Gate.Go`](../fence/gate.go)\n")), "ARCHITECTURE.md:2 names Gate.Go, which is not in fence/gate.go"},
				{"a method of another", sources(door, page("| `fence/` |\n[`Latch.Do`](../fence/gate.go)\n")), "names Latch.Do"},
				{"a function", sources(door, page("| `fence/` |\n[`Do`](../fence/gate.go)\n")), "names Do"},
				{"a function of SQL", sources(file{"x.up.sql", "CREATE FUNCTION conch.beat(\n"}, file{"x.md", "[`conch.bid`](x.up.sql)\n"}), "names conch.bid"},
			},
		},
	}
}

// checkMap reads folders and not packages, so that it includes modules outside go.work. The root itself has no code.
func checkMap(h house) (complaints []string) {
	folders, code := map[string]bool{}, map[string]bool{}
	rows := map[string]int{}
	mapped := false
	for _, f := range h.files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
		if room, _, below := strings.Cut(f.path, "/"); below && path.Ext(f.path) == ".go" {
			code[room] = true
		}
		if f.path == housePlan {
			mapped = true
			for _, found := range mapRow.FindAllStringSubmatch(f.text, -1) {
				rows[found[1]]++
			}
		}
	}
	if !mapped {
		return nil // checkLinks reports that the page is missing
	}
	for _, dir := range slices.Sorted(maps.Keys(code)) {
		if rows[dir] == 0 {
			complaints = append(complaints, "the map has no row for "+dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(rows)) {
		switch {
		case !folders[dir]:
			complaints = append(complaints, "the map has a row for "+dir+", which is not there")
		case rows[dir] > 1:
			complaints = append(complaints, fmt.Sprintf("the map has %d rows for %s", rows[dir], dir))
		}
	}
	return complaints
}

func checkLinkedNames(h house) (complaints []string) {
	texts := map[string]string{}
	for _, f := range h.files {
		texts[f.path] = f.text
	}
	for _, f := range papers(h) {
		for at, line := range numbered(f.text) {
			for _, found := range linkedName.FindAllStringSubmatch(line, -1) {
				target := path.Join(path.Dir(f.path), found[2])
				if text, there := texts[target]; there && !declares(target, text, found[1]) { // checkLinks reports missing files
					complaints = append(complaints, fmt.Sprintf("%s:%d names %s, which is not in %s", f.path, at, found[1], target))
				}
			}
		}
	}
	return complaints
}

// declares reports whether a file declares a function of SQL, a method or a function.
func declares(target, text, name string) bool {
	if path.Ext(target) == ".sql" {
		return strings.Contains(text, "FUNCTION "+name+"(")
	}
	declaration := `(?m)^func ` + name + `[(\[]`
	if receiver, method, ok := strings.Cut(name, "."); ok {
		declaration = `(?m)^func \(\w+ \*?` + receiver + `\) ` + method + `[(\[]`
	}
	return regexp.MustCompile(declaration).MatchString(text)
}

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

// numberPages are the pages that define the numbers, each in a row of a table.
var numberPages = []string{requirements, divergence, "docs/guarantees.md"}

var (
	defined = regexp.MustCompile(`(?m)^\| ([A-Z]\d{1,2}) \|`)
	cited   = regexp.MustCompile(`(?:^|[^\w.])([A-Z])(\d{1,2})(?:(?:–| to )([A-Z])(\d{1,2}))?\b`)
	// quoted matches code in a page, where a name may look like a number, and links, which checkLinks checks.
	quoted = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")
	// paper matches the name of a page, a design document or an issue.
	paper = regexp.MustCompile(`[\w./-]+\.md\b|\b[A-Z]{4,} §|\b[Ii]ssue #?\d+|\bseeds? 00\d`)
)

func citationRules() []wall {
	written := file{requirements, "| D1 | a lock | 001 |\n| D3 | a name | 001 |\n"}
	return []wall{
		{
			name: "a number that is cited is written down", check: checkNumbers,
			why: "a reader must find in this repository what a cited requirement says",
			breaches: []breach{
				{"in code", sources(file{"fence/gate.go", "package fence\n\n/" + "/ K" + "7: it shuts.\n"}), "fence/gate.go:3 cites K" + "7"},
				{"in SQL", sources(file{"x.up.sql", "SELECT 1; -" + "- see K" + "7\n"}), "x.up.sql:1 cites K" + "7"},
				{"in a story", sources(file{"election/testdata/x.txt", "# (D1, K" + "7)\n"}, written), "testdata/x.txt:1 cites K" + "7"},
				{"in a paper", sources(file{"docs/run.md", "as K" + "7 asks\n"}), "docs/run.md:1 cites K" + "7"},
				{"within a span", sources(file{"x.sql", "-" + "- D1–D3\n"}, written), "x.sql:1 cites D2"},
				{"written twice", sources(written, file{"docs/guarantees.md", "| D3 | a promise |\n"}), "D3 is written down 2 times"},
			},
		},
		{
			name: "a paper that is cited is there", check: checkPapers,
			why: "a reader cannot check a reason in a document that is not in this repository",
			breaches: []breach{
				{"a page", sources(file{"fence/gate.go", "package fence\n\n/" + "/ See gone" + ".md, part 2.\n"}), "fence/gate.go:3 cites gone.md"},
				{"a design", sources(file{"x.sql", "-" + "- DESIGN" + " §3\n"}), "x.sql:1 cites DESIGN §"},
				{"an issue", sources(file{"docs/run.md", "as issue " + "5 has it\n"}), "docs/run.md:1 cites issue 5"},
				{"a seed document", sources(file{"election/testdata/x.txt", "# seed " + "001\n"}), "x.txt:1 cites seed 001"},
			},
		},
	}
}

// remark returns the comment in a line, and in a page the line without code and links.
func remark(f file, line string) string {
	mark := map[string]string{".go": "//", ".sql": "--", ".txt": "#"}[path.Ext(f.path)]
	switch {
	case path.Ext(f.path) == ".md":
		return quoted.ReplaceAllString(line, "")
	case mark == "" || path.Ext(f.path) == ".txt" && !strings.Contains(f.path, "testdata/"):
		return ""
	}
	_, text, _ := strings.Cut(line, mark)
	return text
}

func checkNumbers(h house) (complaints []string) {
	written := map[string]int{}
	for _, f := range h.files {
		if slices.Contains(numberPages, f.path) {
			for _, found := range defined.FindAllStringSubmatch(f.text, -1) {
				written[found[1]]++
			}
		}
	}
	for number, times := range written {
		if times > 1 {
			complaints = append(complaints, fmt.Sprintf("%s is written down %d times", number, times))
		}
	}
	slices.Sort(complaints)
	for _, f := range h.files {
		for at, line := range numbered(f.text) {
			text := remark(f, line)
			if !strings.ContainsAny(text, "0123456789") {
				continue // quicker than an expression
			}
			for _, found := range cited.FindAllStringSubmatch(text, -1) {
				for _, number := range span(found) {
					if written[number] == 0 {
						complaints = append(complaints, fmt.Sprintf("%s:%d cites %s, which is in none of %v", f.path, at, number, numberPages))
					}
				}
			}
		}
	}
	return complaints
}

// span lists the numbers of a match: S1–S3 cites S2 as well.
func span(found []string) (numbers []string) {
	first, _ := strconv.Atoi(found[2])
	last := first
	if found[3] == found[1] {
		last, _ = strconv.Atoi(found[4])
	}
	for n := first; n <= last; n++ {
		numbers = append(numbers, fmt.Sprintf("%s%d", found[1], n))
	}
	return numbers
}

func checkPapers(h house) (complaints []string) {
	pages := map[string]bool{}
	for _, f := range papers(h) {
		pages[f.path], pages[path.Base(f.path)] = true, true
	}
	for _, f := range h.files {
		for at, line := range numbered(f.text) {
			if !strings.Contains(line, ".md") && !strings.Contains(line, "§") && !strings.Contains(line, "ssue") && !strings.Contains(line, "seed") {
				continue // quicker than an expression
			}
			for _, found := range paper.FindAllString(remark(f, line), -1) {
				if !pages[strings.TrimPrefix(path.Clean(found), "../")] {
					complaints = append(complaints, fmt.Sprintf("%s:%d cites %s", f.path, at, found))
				}
			}
		}
	}
	return complaints
}
