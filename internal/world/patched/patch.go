package patched

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/conchhq/conch/internal/pattern"
)

// Env names the rule that a patched program leaves out.
const Env = "CONCH_WITHOUT"

// out is the rule that this program leaves out. A file that only a patched build has sets it.
var out string

// Out returns the rule that this program leaves out by a patch, or nothing: the code is the one that ships.
func Out() string { return out }

// Breaks reports whether a patch leaves a rule out.
func Breaks(rule string) bool {
	all, err := patches()
	if err != nil {
		panic(err) //nolint:forbidigo // these bytes are in the program, and TestThePatchesFit has read them
	}
	return slices.ContainsFunc(all, func(p patch) bool { return slices.Contains(p.rules, rule) })
}

//go:embed *.diff
var texts embed.FS

// patch is one place of the source.
type patch struct {
	from     string   // the diff that has it, and the line
	rules    []string // that it leaves out
	file     string   // below the root of the source
	old, new string   // whole lines
}

var patches = sync.OnceValues(func() ([]patch, error) {
	names, err := fs.Glob(texts, "*.diff")
	if err != nil {
		return nil, err
	}
	var all []patch
	wings := map[string]string{}
	for _, name := range names {
		text, err := texts.ReadFile(name)
		if err != nil {
			return nil, err
		}
		some, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			for _, r := range p.rules {
				if w, is := wings[r]; is && w != name {
					return nil, fmt.Errorf("%s: the rule %s is also in %s: one of them needs another name", p.from, r, w)
				}
				wings[r] = name
			}
		}
		all = append(all, some...)
	}
	return all, nil
})

var withouts = pattern.Of(`without\("([^"]*)"\)`)

// parse reads a diff.
func parse(name, text string) (all []patch, err error) {
	var p *patch
	end := func() error {
		if p == nil {
			return nil
		}
		for _, found := range withouts().FindAllStringSubmatch(p.new, -1) {
			p.rules = append(p.rules, found[1])
		}
		if len(p.rules) == 0 || p.old == "" {
			return fmt.Errorf("%s: a patch of %s replaces nothing, or names no rule: without(…) has to guard it", p.from, p.file)
		}
		all, p = append(all, *p), nil
		return nil
	}
	n := 0
	for line := range strings.Lines(text + "\n") {
		n++
		line = strings.TrimRight(line, "\n")
		file, starts := strings.CutPrefix(line, "--- ")
		switch {
		case starts || line == "":
			if err := end(); err != nil {
				return nil, err
			}
			if starts {
				p = &patch{from: fmt.Sprintf("%s:%d", name, n), file: file}
			}
		case p == nil && line[0] == '#':
		case p != nil && line[0] == ' ':
			p.old, p.new = p.old+line[1:]+"\n", p.new+line[1:]+"\n"
		case p != nil && line[0] == '-':
			p.old += line[1:] + "\n"
		case p != nil && line[0] == '+':
			p.new += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("%s:%d is no line of a patch: %q", name, n, line)
		}
	}
	return all, nil
}
