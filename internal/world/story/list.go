package story

import (
	"fmt"
	"strings"
)

// Table lists what a story may say of a kind of world, for words.md beside this file: what every world has, or what this one adds.
func Table(kind Kind, everywhere bool) (string, error) {
	p := newPlay(Text{}, kind, nil)
	var err error
	if p.w, err = kind.Begin(); err != nil {
		return "", err
	}
	words, facts := p.w.Words(), p.w.Facts()
	if everywhere {
		words, facts, kind.Settings = common(p.w), p.facts(), nil
	}
	var b strings.Builder
	b.WriteString("| line | what it says |\n|---|---|\n")
	row := func(form, what string) { fmt.Fprintf(&b, "| `%s` | %s |\n", form, what) }
	for _, s := range kind.Settings {
		row(s.Form, "before anything happens: "+s.What)
	}
	for _, w := range words {
		switch {
		case w.Lasts:
			row(w.Form+" for TIME", w.What)
		case w.Undo != nil:
			row(w.Form+" [for TIME]", w.What)
		default:
			row(w.Form, w.What)
		}
	}
	for _, f := range facts {
		row("expect "+f.Form, f.What)
	}
	return b.String(), nil
}
