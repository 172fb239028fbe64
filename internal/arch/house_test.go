package arch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// modulePath is the import path of the root. This package writes a package of the
// house as "./room", so that it cannot be confused with a library.
const modulePath = "github.com/conchhq/conch"

// house is the input of the walls: the real tree, or a fabricated one.
type house struct {
	packages []pkg
	modules  []module
	work     []string // the folders go.work lists, "." for the root
	links    []string // what is linked into the program of users
	files    []file
}

type pkg struct {
	path        string // "./election/pgmint"; the root is "./"
	name        string
	doc         string
	imports     []string // of the code without tests, on every platform
	testImports []string
}

type module struct {
	dir      string // "." or "cmd/conch"
	requires []require
	replaces map[string]string
}

type require struct {
	path, version string
	indirect      bool
}

type file struct {
	path string // relative to the root, with slashes
	text string
}

// load reads the real house. This process reads every file itself, so that the test
// cache depends on them and never returns a stale pass.
func load(t *testing.T) house {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	h := house{work: workUses(t, root)}
	h.files, h.modules = readTree(t, root)
	h.packages = listPackages(t, root)
	for path := range strings.FieldsSeq(string(goCommand(t, root, "list", "-deps", binary))) {
		h.links = append(h.links, housePath(path))
	}
	return h
}

// goCommand runs go in the workspace, even under GOWORK=off.
func goCommand(t *testing.T, root string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.WaitDelay = root, time.Second
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"))
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go %s: %s", strings.Join(args, " "), exit.Stderr)
	}
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func workUses(t *testing.T, root string) []string {
	t.Helper()
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(goCommand(t, root, "work", "edit", "-json"), &work); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, use := range work.Use {
		dirs = append(dirs, filepath.ToSlash(filepath.Clean(use.DiskPath)))
	}
	return dirs
}

func listPackages(t *testing.T, root string) []pkg {
	t.Helper()
	type listed struct {
		ImportPath, Name, Doc, Dir                         string
		Imports, TestImports, XTestImports, IgnoredGoFiles []string
	}
	// -e: the compiler reports packages that do not compile.
	out := goCommand(t, root, "list", "-e",
		"-json=ImportPath,Name,Doc,Dir,Imports,TestImports,XTestImports,IgnoredGoFiles", "work")
	var packages []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		p := pkg{path: housePath(l.ImportPath), name: l.Name, doc: l.Doc, imports: l.Imports}
		p.testImports = slices.Concat(l.TestImports, l.XTestImports)
		for _, name := range l.IgnoredGoFiles {
			for _, path := range importsOf(t, filepath.Join(l.Dir, name)) {
				if strings.HasSuffix(name, "_test.go") {
					p.testImports = append(p.testImports, path)
				} else {
					p.imports = append(p.imports, path)
				}
			}
		}
		p.imports, p.testImports = housePaths(p.imports), housePaths(p.testImports)
		packages = append(packages, p)
	}
}

// importsOf reads the imports of a file for another system, which the go command omits:
// the walls apply to Windows too.
func importsOf(t *testing.T, name string) (imports []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, path)
	}
	return imports
}

func housePaths(paths []string) []string {
	var out []string
	for _, path := range paths {
		out = append(out, housePath(path))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func housePath(path string) string {
	if path == modulePath {
		return "./"
	}
	if rest, ok := strings.CutPrefix(path, modulePath+"/"); ok {
		return "./" + rest
	}
	return path
}

func readTree(t *testing.T, root string) ([]file, []module) {
	t.Helper()
	var files []file
	var modules []module
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "node_modules"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || ignored(rel) || rel == ".git" { // in a linked work tree .git is a file
			return nil
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that vanished after it was listed, such as an editor's swap file
		} else if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			text = nil // a picture, which papers show
		}
		if rel == "NOTICES.md" {
			text, _, _ = bytes.Cut(text, []byte("\n## Texts\n")) // licences are in the words of others
		}
		files = append(files, file{path: rel, text: string(text)})
		if entry.Name() == "go.mod" {
			modules = append(modules, parseModule(t, root, filepath.Dir(path)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, modules
}

// ignored reports whether .gitignore excludes the file: output of one run on one machine.
func ignored(rel string) bool {
	return rel == "cover.out" || rel == "cover.html" ||
		strings.HasSuffix(rel, ".test") || strings.HasSuffix(rel, ".prof")
}

func parseModule(t *testing.T, root, dir string) module {
	t.Helper()
	var mod struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
		Replace []struct{ Old, New struct{ Path string } }
	}
	out := goCommand(t, root, "mod", "edit", "-json", filepath.Join(dir, "go.mod"))
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	m := module{dir: filepath.ToSlash(rel), replaces: map[string]string{}}
	for _, r := range mod.Require {
		m.requires = append(m.requires, require{path: r.Path, version: r.Version, indirect: r.Indirect})
	}
	for _, r := range mod.Replace {
		m.replaces[r.Old.Path] = r.New.Path
	}
	return m
}
