package arch

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
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
