package arch

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// proofPages have a row for each number of theirs, with the tests and stories that show it: those of some letters, in the part of the
// page of requirements that a heading begins, or in all of it.
var proofPages = map[string]struct{ letters, part string }{
	"docs/sequencer.md": {letters: "PIQ"}, "docs/gossip.md": {"B", "## B: gossip"}, "docs/log.md": {"BV", "## B, V: the log"},
}

// plannedPart begins the part of the page of requirements whose numbers nothing shows yet.
const plannedPart = "## What planned wings will have to meet"

var (
	proofRow   = regexp.MustCompile(`(?m)^\| ([A-Z]\d{1,2}) \| (.*?) \|`)
	proofTest  = regexp.MustCompile("`(\\w+)\\.((?:Test|Fuzz)[A-Z]\\w*)")
	proofStory = regexp.MustCompile(`\]\(([^)#]+/testdata/[^)#]+)\)`)
)

func proofRules() []wall {
	page := func(text string) file { return file{"docs/sequencer.md", text} }
	const rows = "| P1 | a committee | 002 |\n"
	test := func(text string) file {
		return file{"sequencer/book/book_test.go", "package book\n\n" + text + "func TestOne(t *testing.T) {}\n"}
	}
	numbers := file{"docs/requirements.md", rows}
	two := file{"docs/requirements.md", "## B: gossip\n\n| B1 | a test | 003 |\n\n## B, V: the log\n\n| V1 | a cause | 003 |\n"}
	gossip := file{"docs/gossip.md", "| B1 | `book.TestOne` | |\n"}
	return []wall{{
		name: "every number of the sequencer, of gossip and of the log has a proof", check: checkProofs,
		why: "a requirement that no test shows is a wish, and a test that does not name it is not found by its number",
		breaches: []breach{
			{"no row", sources(numbers, page("| number | shown by |\n")), "docs/sequencer.md has no row for P1"},
			{"two rows", sources(numbers, test("// P1\n"), page("| P1 | `book.TestOne` | |\n| P1 | `book.TestOne` | |\n")), "docs/sequencer.md has 2 rows for P1"},
			{"an empty row", sources(numbers, page("| P1 | it is obvious | |\n")), "docs/sequencer.md names no test and no story for P1"},
			{"a test of another package", sources(numbers, test("// P1\n"), page("| P1 | `wire.TestOne` | |\n")), "docs/sequencer.md names wire.TestOne for P1, which is not there"},
			{"no row for gossip", sources(two, file{"docs/gossip.md", "| number | shown by |\n"}), "docs/gossip.md has no row for B1"},
			{"no row for the log", sources(two, test("// B1\n"), gossip, file{"docs/log.md", "| number | shown by |\n"}), "docs/log.md has no row for V1"},
			{"a row too many", sources(two, test("// B1, V1\n"), gossip, file{"docs/log.md", "| V1 | `book.TestOne` | |\n| B1 | it is obvious | |\n"}), "docs/log.md names no test and no story for B1"},
			{"nothing cites it", sources(numbers, test(""), page("| P1 | `book.TestOne` | |\n")), "book.TestOne, which docs/sequencer.md names for P1, does not cite it"},
			{"another test cites it", sources(numbers, test("// P1\nfunc TestTwo(t *testing.T) {\n}\n\n"), page("| P1 | `book.TestOne` | |\n")), "book.TestOne, which docs/sequencer.md names for P1, does not cite it"},
			{"a story does not", sources(numbers, file{"sequencer/book/testdata/one.txt", "# one\n"}, page("| P1 | [one](../sequencer/book/testdata/one.txt) | |\n")), "testdata/one.txt, which docs/sequencer.md names for P1, does not cite it"},
		},
	}}
}

func checkProofs(h house) (complaints []string) {
	texts := map[string]string{}
	for _, f := range h.files {
		texts[f.path] = f.text
	}
	all, _, _ := strings.Cut(texts["docs/requirements.md"], plannedPart)
	for _, page := range slices.Sorted(maps.Keys(proofPages)) {
		if texts[page] == "" {
			continue // checkLinks reports that the page is missing
		}
		of := proofPages[page]
		rows, numbers := map[string][]string{}, map[string]bool{}
		for _, row := range proofRow.FindAllStringSubmatch(texts[page], -1) {
			rows[row[1]] = append(rows[row[1]], row[2])
			numbers[row[1]] = true
		}
		for _, found := range defined.FindAllStringSubmatch(partOf(all, of.part), -1) {
			numbers[found[1]] = true
		}
		for _, number := range slices.Sorted(maps.Keys(numbers)) {
			if !strings.ContainsAny(number[:1], of.letters) {
				continue
			}
			switch len(rows[number]) {
			case 0:
				complaints = append(complaints, fmt.Sprintf("%s has no row for %s", page, number))
			case 1:
				complaints = append(complaints, checkProof(h, page, number, rows[number][0])...)
			default:
				complaints = append(complaints, fmt.Sprintf("%s has %d rows for %s", page, len(rows[number]), number))
			}
		}
	}
	return complaints
}

// partOf returns the part of a page that a heading begins; all of it if there is none.
func partOf(text, heading string) string {
	if heading == "" {
		return text
	}
	_, part, _ := strings.Cut(text, heading+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// checkProof looks at what a row names.
func checkProof(h house, page, number, row string) (complaints []string) {
	named := 0
	proof := func(what string, in ...file) {
		if named++; !slices.ContainsFunc(in, func(f file) bool { return cites(f, number) }) {
			complaints = append(complaints, fmt.Sprintf("%s, which %s names for %s, does not cite it", what, page, number))
		}
	}
	for _, found := range proofTest.FindAllStringSubmatch(row, -1) {
		var tests []file // a name may be that of two packages: then one of them is meant
		for _, f := range h.files {
			if path.Base(path.Dir(f.path)) == found[1] && strings.HasSuffix(f.path, "_test.go") && strings.Contains(f.text, "func "+found[2]+"(") {
				tests = append(tests, ofTest(f, found[2]))
			}
		}
		if len(tests) == 0 {
			complaints = append(complaints, fmt.Sprintf("%s names %s.%s for %s, which is not there", page, found[1], found[2], number))
			continue
		}
		proof(found[1]+"."+found[2], tests...)
	}
	for _, found := range proofStory.FindAllStringSubmatch(row, -1) {
		place := path.Join(path.Dir(page), found[1])
		for _, f := range h.files { // checkLinks reports missing ones
			if f.path == place {
				proof(found[1], f)
			}
		}
	}
	if named == 0 && len(complaints) == 0 {
		complaints = append(complaints, fmt.Sprintf("%s names no test and no story for %s", page, number))
	}
	return complaints
}

// ofTest returns what a file has of one test: its comment and its body. Another test's citation is not its own.
func ofTest(f file, name string) file {
	begin, body, _ := strings.Cut(f.text, "func "+name+"(")
	lines := strings.Split(begin, "\n")
	from := len(lines) - 1
	for from > 0 && strings.HasPrefix(lines[from-1], "//") {
		from--
	}
	body, _, _ = strings.Cut(body, "\n}\n")
	return file{f.path, strings.Join(lines[from:], "\n") + body}
}

// cites reports whether a comment of a file, or of a part of it, cites a number.
func cites(f file, number string) bool {
	for _, line := range numbered(f.text) {
		for _, found := range cited.FindAllStringSubmatch(remark(f, line), -1) {
			if slices.Contains(span(found), number) {
				return true
			}
		}
	}
	return false
}
