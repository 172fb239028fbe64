package files

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
)

const (
	db    = "[database]\nurl = \"postgres://conch@db/app\"\n"
	named = "[node]\ninstance_id = \"n1\"\n"
	// store begins at line 5 of a file after db and named.
	store = "[[files]]\nscope = \"data\"\ndir = \"files\"\npeers = { n1 = \"http://127.0.0.1:1/\", n2 = \"https://b.example:7070\" }\n"
)

// S22: each key of [[files]], and its role behind the fenced door.
func TestFiles(t *testing.T) {
	t.Parallel()
	c, err := configtest.Load(t, db+named+store+"token_file = \"token\"\nca_file = \"ca.pem\"\ncopies = 1\nrepair_interval = \"7s\"\n[[files]]\nscope = \"more\"\ndir = \"files2\"\n", config.Source{Sections: configtest.Beside(Kind().Section)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, roles := config.Of[*Section](c).all, c.Settled()
	f := all[0]
	switch {
	case f.Scope != "data" || !filepath.IsAbs(f.Dir) || !filepath.IsAbs(f.TokenFile) || !filepath.IsAbs(f.CAFile):
		t.Errorf("%+v", f)
	case *f.Copies != 1 || f.Repair != 7*time.Second || all[1].Copies != nil:
		t.Errorf("%+v", f)
	case len(f.Peers("n1")) != 1 || f.Peers("n1")["n2"] != "https://b.example:7070" || len(f.Nodes) != 2:
		t.Errorf("%v", f.Peers("n1"))
	case len(roles) != 2 || roles[0].Scope != "data" || !roles[0].Fenced || roles[0].Section != "files" || roles[1].Scope != "more":
		t.Errorf("%+v", roles)
	}
}

// more returns a second table with that dir.
func more(dir string) string {
	return strings.NewReplacer("data", "more", "\"files\"", strconv.Quote(dir)).Replace(store)
}

func TestFaultsOfFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		says       []string
	}{
		{"one table", db + "[files]\nscope = \"x\"\n", []string{"files", "[[files]]"}},
		{"unknown key", db + named + store + "folder = \"x\"\n", []string{"line 9, files[0].folder"}},
		{"no scope", db + named + strings.Replace(store, "scope = \"data\"\n", "", 1), []string{"files[0].scope: is missing"}},
		{"no dir", db + named + strings.Replace(store, "dir = \"files\"\n", "", 1), []string{"files[0].dir: is missing"}},
		{"one dir twice", db + named + store + strings.Replace(store, "data", "more", 1), []string{"files[1].dir", "already the folder of files[0]"}},
		{"one dir twice, said in another way", db + named + store + more("./x/../files/"), []string{"files[1].dir", "already the folder of files[0]"}},
		{"a dir in another", db + named + store + more("files/new"), []string{"files[1].dir", "inside", "of files[0]"}},
		{"a dir around another", db + named + strings.Replace(store, "\"files\"", "\"all/files\"", 1) + more("all"), []string{"files[0].dir", "inside", "of files[1]"}},
		{"one scope twice", db + named + store + strings.Replace(store, "\"files\"", "\"more\"", 1), []string{`files[1].scope: "data" is the scope of files[0]`}},
		{"a role's scope", db + named + "[[roles]]\nname = \"data\"\n" + store, []string{`files[0].scope: "data" is the scope of roles[0]`}},
		{"no name of its own", db + store, []string{"files[0].peers", "instance_id"}},
		{"standalone", "[node]\ninstance_id = \"n1\"\nstandalone = true\n" + store, []string{"files[0].peers", "standalone"}},
		{"no URL", db + named + strings.Replace(store, "https://", "ftp://SECRET@", 1), []string{"files[0].peers.n2: is not the URL"}},
		{"a bad name", db + named + strings.Replace(store, "n2 =", "\"n:2\" =", 1), []string{"files[0].peers.n:2"}},
		{"a list", db + named + strings.Replace(store, "{ n1 = \"http://127.0.0.1:1/\", n2 = \"https://b.example:7070\" }", "[\"x\"]", 1), []string{"files[0].peers: must be a table"}},
		{"a number", db + named + strings.Replace(store, "\"http://127.0.0.1:1/\"", "7", 1), []string{"files[0].peers.n1: 7 is not a text"}},
		{"too many copies", db + named + store + "copies = 2\n", []string{"files[0].copies: 2 is more than the 1 other nodes"}},
		{"copies below 0", db + named + store + "copies = -1\n", []string{"files[0].copies: -1"}},
		{"no interval", db + named + store + "repair_interval = \"0s\"\n", []string{"files[0].repair_interval", "not above 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := configtest.Load(t, c.text, config.Source{Sections: configtest.Beside(Kind().Section)}, nil)
			configtest.Faults(t, err, c.says, "SECRET")
		})
	}
}
