package arch

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	testNamed = regexp.MustCompile("`(?:[\\w.]+\\.)?((?:Test|Benchmark|Fuzz)[A-Z]\\w*)")
	pageLink  = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)
	titleLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	reader    = regexp.MustCompile(`^For (?:[a-z ]+,? )?(?:everybody|users|operators|contributors|auditors)\b`)
	// sentences matches where a second sentence begins.
	sentences = regexp.MustCompile(`[\p{Ll}X)\]]\. +[\p{Lu}\[]`)
)

// printed is the page whose table a program prints.
const printed = "docs/metrics.md"

func paperRules() []wall {
	return []wall{
		{
			name: "a test that a paper names exists", check: checkNamedTests,
			why: "a guarantee is only as good as the test that shows it",
			breaches: []breach{{"gone", sources(
				file{"docs/guarantees.md", "shown by `TestGone/now`\n"}, file{"fence/gate_test.go", "package fence\n\nfunc TestHere(t *testing.T) {}\n"},
			), "docs/guarantees.md:1 names TestGone"}},
		},
		{
			name: "a page that a paper links to exists", check: checkLinks,
			why: "a reader who meets a dead link stops trusting the page",
			breaches: []breach{
				{"dead", sources(file{"docs/run.md", "see [this](gone.md#there)\n"}), "docs/run.md:1 links to docs/gone.md"},
				{"no such heading", sources(file{"docs/run.md", "see [this](go.md#there)\n"}, file{"docs/go.md", "# Here\n\nFor users.\n```sh\n# there\n```\n"}), "docs/run.md:1 links to docs/go.md#there"},
				{"no such heading here", sources(file{"docs/run.md", "# A `run`: one\n\nFor users: [one](#a-run-one) [two](#a-run-two)\n"}), "docs/run.md:3 links to docs/run.md#a-run-two"},
			},
		},
		{
			name: "a page says whom it is for", check: checkReaders,
			why:      "a page without a reader has what nobody needs, and says it to everybody",
			breaches: []breach{{"nobody", sources(file{"docs/run.md", "# Run\n\nRun it.\n"}), "docs/run.md does not say whom it is for"}},
		},
		{
			name: "a table's cell has one sentence", check: checkCells,
			why:      "a reader looks something up in a table, and reads a section",
			breaches: []breach{{"two", sources(file{"docs/run.md", "| run | it runs: `this` |\n| halt | It ends. `Then` it runs |\n"}), "docs/run.md:2 has a paragraph"}},
		},
	}
}

func checkNamedTests(h house) (complaints []string) {
	known := map[string]bool{}
	for _, f := range h.files {
		if !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		for _, line := range numbered(f.text) {
			if name, is := strings.CutPrefix(line, "func "); is { // quicker than an expression
				name, _, _ = strings.Cut(name, "(")
				known[name] = true
			}
		}
	}
	for _, f := range papers(h) {
		for number, line := range numbered(f.text) {
			if !strings.Contains(line, "`") {
				continue // quicker than an expression
			}
			for _, found := range testNamed.FindAllStringSubmatch(line, -1) {
				if !known[found[1]] {
					complaints = append(complaints, fmt.Sprintf("%s:%d names %s", f.path, number, found[1]))
				}
			}
		}
	}
	return complaints
}

func checkLinks(h house) (complaints []string) {
	places, headings := map[string]bool{}, map[string]map[string]bool{}
	for _, f := range h.files {
		for place := f.path; place != "."; place = path.Dir(place) {
			places[place] = true
		}
	}
	for _, f := range papers(h) {
		if f.path != "NOTICES.md" { // of which the tree has the beginning alone
			headings[f.path] = anchors(f.text)
		}
	}
	for _, f := range papers(h) {
		for number, line := range numbered(f.text) {
			for _, found := range pageLink.FindAllStringSubmatch(line, -1) {
				place := f.path
				if found[1] != "" {
					place = path.Join(path.Dir(f.path), found[1])
				}
				switch known := headings[place]; {
				case !places[place]:
					complaints = append(complaints, fmt.Sprintf("%s:%d links to %s", f.path, number, place))
				case found[2] != "" && known != nil && !known[found[2]]:
					complaints = append(complaints, fmt.Sprintf("%s:%d links to %s#%s", f.path, number, place, found[2]))
				}
			}
		}
	}
	return complaints
}

// anchors returns the names by which links reach the headings of a page.
func anchors(text string) map[string]bool {
	all, code := map[string]bool{}, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if code || !is || line[0] != '#' {
			continue
		}
		title = strings.ToLower(titleLink.ReplaceAllString(strings.TrimSpace(title), "$1"))
		all[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return r
			}
			return -1
		}, title)] = true
	}
	return all
}

func checkReaders(h house) (complaints []string) {
	for _, f := range papers(h) {
		title, below, _ := strings.Cut(f.text, "\n")
		if path.Dir(f.path) != "docs" || !strings.HasPrefix(title, "# ") {
			continue
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(below), "\n"); !reader.MatchString(first) {
			complaints = append(complaints, f.path+" does not say whom it is for")
		}
	}
	return complaints
}

func checkCells(h house) (complaints []string) {
	for _, f := range papers(h) {
		if path.Dir(f.path) != "docs" || f.path == printed {
			continue
		}
		for number, line := range numbered(f.text) {
			if strings.HasPrefix(line, "|") && sentences.MatchString(inCode.ReplaceAllString(line, "X")) {
				complaints = append(complaints, fmt.Sprintf("%s:%d has a paragraph in a table", f.path, number))
			}
		}
	}
	return complaints
}

func papers(h house) (all []file) {
	for _, f := range h.files {
		if path.Ext(f.path) == ".md" {
			all = append(all, f)
		}
	}
	return all
}

// numbered yields the lines of a text, counted from 1.
func numbered(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(text) {
			if number++; !yield(number, line) {
				return
			}
		}
	}
}
