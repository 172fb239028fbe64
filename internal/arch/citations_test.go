package arch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// numberPages are the pages that define the numbers, each in a row of a table.
var numberPages = []string{"docs/requirements.md", "docs/guarantees.md"}

var (
	defined = regexp.MustCompile(`(?m)^\| ([A-Z]\d{1,2}) \|`)
	cited   = regexp.MustCompile(`(?:^|[^\w.])([A-Z])(\d{1,2})(?:(?:–| to )([A-Z])(\d{1,2}))?\b`)
	// quoted matches code in a page, where a name may look like a number, and links, which checkLinks checks.
	quoted = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")
	// paper matches the name of a page, a design document or an issue.
	paper = regexp.MustCompile(`[\w./-]+\.md\b|\b[A-Z]{4,} §|\b[Ii]ssue #?\d+|\bseeds? 00\d`)
)

func citationRules() []wall {
	const page = "docs/requirements.md"
	written := file{page, "| D1 | a lock | 001 |\n| D3 | a name | 001 |\n"}
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
