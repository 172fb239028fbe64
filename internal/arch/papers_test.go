package arch

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"strings"
)

var (
	testNamed = regexp.MustCompile("`(?:[\\w.]+\\.)?((?:Test|Benchmark|Fuzz)[A-Z]\\w*)")
	pageLink  = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
)

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
			why:      "a reader who meets a dead link stops trusting the page",
			breaches: []breach{{"dead", sources(file{"docs/run.md", "see [this](gone.md#there)\n"}), "docs/run.md:1 links to docs/gone.md"}},
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
	places := map[string]bool{}
	for _, f := range h.files {
		for place := f.path; place != "."; place = path.Dir(place) {
			places[place] = true
		}
	}
	for _, f := range papers(h) {
		for number, line := range numbered(f.text) {
			for _, found := range pageLink.FindAllStringSubmatch(line, -1) {
				place := path.Join(path.Dir(f.path), found[1])
				if !places[place] {
					complaints = append(complaints, fmt.Sprintf("%s:%d links to %s", f.path, number, place))
				}
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
