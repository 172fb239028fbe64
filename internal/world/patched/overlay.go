package patched

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// self is this package, below the root of the source.
const self = "internal/world/patched"

// extra is the file that a patched build adds to a package.
const extra = "without_rule.go"

// overlay writes the patched files of the source at root into a folder, and returns the file of the flag -overlay.
func overlay(root, folder string, all []patch) (string, error) {
	o := &overlaid{root: root, folder: folder, instead: map[string]string{}}
	sources, names := map[string]string{}, map[string]string{}
	for _, p := range all {
		text, read := sources[p.file]
		if !read {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.file)))
			if err != nil {
				return "", fmt.Errorf("the patch %s, without %s: %w", p.from, strings.Join(p.rules, ", "), err)
			}
			text = string(content)
		}
		text, err := p.apply(text)
		if err != nil {
			return "", err
		}
		sources[p.file] = text
	}
	for file, text := range sources {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			return "", fmt.Errorf("patched: %w", err)
		}
		names[path.Dir(file)] = syntax.Name.Name
		if err := o.put(file, text); err != nil {
			return "", err
		}
	}
	for dir, name := range names {
		if err := o.put(path.Join(dir, extra), fmt.Sprintf(withoutText, name, Env)); err != nil {
			return "", err
		}
	}
	if err := o.put(path.Join(self, extra), fmt.Sprintf(outText, path.Base(self))); err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]any{"Replace": o.instead})
	if err != nil {
		return "", err
	}
	list := filepath.Join(folder, "overlay.json")
	return list, os.WriteFile(list, content, 0o600)
}

const (
	withoutText = `package %s

import "os"

var withoutRule = os.Getenv(%q)

func without(rule string) bool { return rule == withoutRule }
`
	outText = `package %s

import "os"

func init() { out = os.Getenv(Env) }
`
)

// apply replaces what a patch names.
func (p *patch) apply(text string) (string, error) {
	if n := strings.Count("\n"+text, "\n"+p.old); n != 1 {
		return "", fmt.Errorf("the patch %s, without %s: %s has these lines %d times, and must have them once:\n%s", p.from, strings.Join(p.rules, ", "), p.file, n, p.old)
	}
	return strings.Replace("\n"+text, "\n"+p.old, "\n"+p.new, 1)[1:], nil
}

// overlaid collects the files that stand for others.
type overlaid struct {
	root, folder string
	instead      map[string]string // by the path in the source
}

func (o *overlaid) put(file, text string) error {
	at := filepath.Join(o.folder, fmt.Sprintf("%d.go", len(o.instead)))
	o.instead[filepath.Join(o.root, filepath.FromSlash(file))] = at
	return os.WriteFile(at, []byte(text), 0o600)
}
