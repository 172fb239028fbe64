package arch

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// requirements and divergence are the pages with a row for each number: what it asks or decides, and the tests and stories that show it.
const requirements, divergence = "docs/requirements.md", "docs/divergence.md"

var (
	proofRow   = regexp.MustCompile(`(?m)^\| ([A-Z]\d{1,2}) \| (.*) \|$`)
	proofTest  = regexp.MustCompile("`(\\w+)\\.((?:Test|Fuzz)[A-Z]\\w*)")
	proofStory = regexp.MustCompile(`\]\(([^)#]+/testdata/[^)#]+)\)`)
)

func proofRules() []wall {
	page := func(text string) file { return file{requirements, text} }
	test := func(text string) file {
		return file{"sequencer/internal/book/book_test.go", "package book\n\n" + text + "func TestOne(t *testing.T) {}\n"}
	}
	return []wall{{
		name: "every number has a proof", check: checkProofs,
		why: "a requirement that no test shows is a wish, and a test that does not name it is not found by its number",
		breaches: []breach{
			{"an empty row", sources(page("| P1 | it is obvious | |\n")), "docs/requirements.md names no test and no story for P1"},
			{"a test of another package", sources(test("// P1\n"), page("| P1 | a committee | `wire.TestOne` | |\n")), "docs/requirements.md names wire.TestOne for P1, which is not there"},
			{"nothing cites it", sources(test(""), page("| P1 | a committee | `book.TestOne` | |\n")), "book.TestOne, which docs/requirements.md names for P1, does not cite it"},
			{"another test cites it", sources(test("// P1\nfunc TestTwo(t *testing.T) {\n}\n\n"), page("| P1 | a committee | `book.TestOne` | |\n")), "book.TestOne, which docs/requirements.md names for P1, does not cite it"},
			{"a story does not", sources(file{"sequencer/internal/book/testdata/one.txt", "# one\n"}, page("| P1 | a committee | [one](../sequencer/internal/book/testdata/one.txt) | |\n")), "testdata/one.txt, which docs/requirements.md names for P1, does not cite it"},
			{"a decision by a test that is gone", sources(test(""), file{divergence, "| D1 | decided | `wire.TestOne` | |\n"}), "docs/divergence.md names wire.TestOne for D1, which is not there"},
		},
	}}
}

func checkProofs(h house) (complaints []string) {
	for _, f := range h.files {
		if f.path != requirements && f.path != divergence {
			continue
		}
		for _, row := range proofRow.FindAllStringSubmatch(f.text, -1) {
			complaints = append(complaints, checkProof(h, f.path, row[1], row[2])...)
		}
	}
	return complaints
}

// checkProof looks at what a row of a page names. A decision (D) may name nothing: it is about a document.
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
	if named == 0 && len(complaints) == 0 && number[0] != 'D' {
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
