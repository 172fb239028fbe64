package logs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/disk"
)

// What a node would meet in its store is found, with a remedy; nothing is changed.
func TestFindings(t *testing.T) {
	t.Parallel()
	g := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "n1", Store: 1}}}.With()
	spoil := func(t *testing.T, file string) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte("flags")) {
			t.Fatal("the file does not have its log")
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(b, []byte("flags"), []byte("flogs")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write := func(t *testing.T, file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		begun  bool
		given  func(t *testing.T, l *Log)
		status doctor.Status
		says   []string
	}{
		"nothing":            {false, func(*testing.T, *Log) {}, doctor.OK, []string{"nothing is stored here yet", "conch log create"}},
		"a folder":           {false, func(t *testing.T, l *Log) { t.Helper(); mkdir(t, l.Store) }, doctor.Fail, []string{"cannot be opened", "is a directory", "read and write the file"}},
		"whole":              {true, func(*testing.T, *Log) {}, doctor.OK, []string{"the store is whole, and has no entry yet"}},
		"of the named log":   {true, func(_ *testing.T, l *Log) { l.ID = g.ID() }, doctor.OK, []string{"is whole"}},
		"of another log":     {true, func(_ *testing.T, l *Log) { l.ID = txlog.ID{7} }, doctor.Fail, []string{g.ID().String(), "the configuration says 07", "goes on with this one, start the node"}},
		"of another name":    {true, func(_ *testing.T, l *Log) { l.Namespace = "routes" }, doctor.Fail, []string{`"flags" there, and "routes"`, "correct the configuration"}},
		"damaged":            {true, func(t *testing.T, l *Log) { t.Helper(); spoil(t, l.Store) }, doctor.Warn, []string{"is damaged", "begins with a new one"}},
		"no store":           {false, func(t *testing.T, l *Log) { t.Helper(); write(t, l.Store, strings.Repeat("x", 10_000)) }, doctor.Warn, []string{"not a store of conch: ", "correct store in [[logs]]", "begins with a new one"}},
		"damaged before":     {true, func(t *testing.T, l *Log) { t.Helper(); write(t, l.Store+".damaged", "a page is torn") }, doctor.Warn, []string{"was found to be damaged before: a page is torn"}},
		"a mark of no store": {false, func(t *testing.T, l *Log) { t.Helper(); write(t, l.Store+".damaged", "a page is torn") }, doctor.OK, []string{"nothing is stored here yet"}},
		"too many aside": {false, func(t *testing.T, l *Log) {
			t.Helper()
			for _, n := range []string{"1", "2", "3", "4", "12"} {
				write(t, l.Store+".aside-"+n, "")
			}
		}, doctor.Fail, []string{"5 stores were set aside", "move those files elsewhere"}},
		"held": {true, func(t *testing.T, l *Log) {
			t.Helper()
			s, err := disk.Open(t.Context(), l.Store)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
		}, doctor.OK, []string{"a process has its store", "conch log status flags"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &Log{Namespace: "flags", Store: filepath.Join(t.TempDir(), "flags.log")}
			if c.begun {
				begun(t, l.Store, g)
			}
			c.given(t, l)
			before, _ := os.ReadFile(l.Store)
			f := look(t.Context(), l)
			if f.Status != c.status || (f.Remedy == "") != (c.status == doctor.OK) {
				t.Errorf("got %+v, want one that is %v", f, c.status)
			}
			for _, part := range append(c.says, "log "+l.Namespace+": ") {
				if !strings.Contains(f.Detail+" "+f.Remedy, part) {
					t.Errorf("got %+v, want %q in it", f, part)
				}
			}
			if after, _ := os.ReadFile(l.Store); !bytes.Equal(before, after) {
				t.Error("the store has changed")
			}
		})
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// begun makes a store in which a log has begun.
func begun(t *testing.T, path string, g txlog.Genesis) {
	t.Helper()
	if _, err := disk.Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	s, err := disk.Begin(t.Context(), path, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Each [[logs]] has its finding, and a configuration without one none.
func TestEachLogIsLookedAt(t *testing.T) {
	t.Parallel()
	_, c, err := load(t, base+table+"store = \"/nowhere/flags\"\n[[logs]]\nnamespace = \"routes\"\nstore = \"/nowhere/routes\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if found := examine(t.Context(), c); len(found) != 2 || found[0].Check != checkLogs || !strings.Contains(found[1].Detail, "log routes: ") {
		t.Errorf("got %+v", found)
	}
	_, none, err := load(t, base)
	if found := examine(t.Context(), none); err != nil || len(found) != 0 {
		t.Errorf("got %+v, %v", found, err)
	}
}
