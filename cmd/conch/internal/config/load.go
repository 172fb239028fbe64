package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	gotoml "github.com/pelletier/go-toml/v2"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/secretfile"
)

// Source is where a configuration comes from.
type Source struct {
	Path   string
	Getenv func(string) string
	// Flags of the command line; empty: not given.
	DB, ID, Listen, OpsListen string
	// Named reports that the command line or the environment names a database.
	Named bool
	// Sections make the services' sections, in the order of their roles.
	Sections []func() Section
}

// Load reads and validates a configuration. Its error is a *[FaultsError] with all faults, or
// says why the file cannot be read.
func Load(s Source) (Config, error) {
	text, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("there is no configuration %s: name the file with --config; examples/conch.toml is one to begin with", s.Path)
	}
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	text = secretfile.Text(text)
	d := &Decoder{dir: filepath.Dir(s.Path), origins: origins{
		file: filepath.Base(s.Path), lines: linesOf(text), said: map[string]string{},
	}}
	var c Config
	if values, err := parse(text); err != nil {
		d.faults = append(d.faults, *err)
	} else {
		c = d.config(values, s)
		d.validate(c)
	}
	if len(d.faults) > 0 {
		return c, &FaultsError{File: d.file, List: InOrder(d.faults)}
	}
	return c, nil
}

// typographic are the quotation marks that a word processor and a chat put for those of a keyboard.
const typographic = "“”„‟‘’‚«»"

func parse(text []byte) (map[string]any, *Fault) {
	if bytes.IndexByte(text, 0) >= 0 { // what an editor calls Unicode may be UTF-16
		return nil, &Fault{Line: 1, Text: "this is no text in UTF-8, as TOML is: save it as that"}
	}
	values := map[string]any{}
	err := gotoml.Unmarshal(text, &values)
	if err == nil {
		return values, nil
	}
	fault := &Fault{Text: "this is not TOML: " + err.Error()}
	if at, ok := errors.AsType[*gotoml.DecodeError](err); ok {
		fault.Line, _ = at.Position()
		if mark := slices.Collect(strings.Lines(string(text)))[max(0, fault.Line-1)]; strings.ContainsAny(mark, typographic) {
			fault.Text = "this is not TOML: the line has quotation marks of a word processor: write \" instead"
		}
	}
	return nil, fault
}

// config decodes the file, and lets the environment and the flags override it.
func (d *Decoder) config(values map[string]any, s Source) Config {
	c := Config{Node: Node{Listen: DefaultListen}, Election: election.Config{Takeover: mint.Strict}, origins: d.origins}
	for _, section := range s.Sections {
		c.Sections = append(c.Sections, section())
	}
	d.Table("", values, d.sections(&c))
	getenv := func(name string) string {
		said := map[string]string{pg.EnvURL: s.DB}[name]
		file := map[string]string{
			pg.EnvURL: c.Database.URL, pg.EnvCAFile: c.Database.TLSCAFile,
			pgmint.EnvLocks: string(c.Database.Locks), pgmint.EnvLockBudget: strconv.Itoa(c.Database.LockBudget),
		}[name]
		if name == pg.EnvInsecure && c.Database.TLSInsecure {
			file = "true"
		}
		return or(said, or(s.Getenv(name), file))
	}
	c.Named = s.Named || getenv(pg.EnvURL) != ""
	for _, section := range c.Sections {
		section.Settle(d, c)
	}
	var err error
	if c.Election, err = c.Election.WithEnv(getenv); err != nil {
		d.environment(err)
	}
	d.overruled(s)
	if c.Database, err = pgmint.ConfigFromEnv(getenv, c.Scopes()...); err != nil {
		d.database(getenv, err)
	}
	c.Election.ID = or(s.ID, c.Election.ID)
	c.Node.Listen, c.Node.OpsListen = or(s.Listen, c.Node.Listen), or(s.OpsListen, c.Node.OpsListen)
	return c
}

// overruled records which keys a flag or the environment has set.
func (d *Decoder) overruled(s Source) {
	for _, one := range []struct{ place, flag, said, variable string }{
		{"node.instance_id", "--id", s.ID, "CONCH_INSTANCE_ID"},
		{"node.listen", "--listen", s.Listen, ""},
		{"node.ops_listen", "--ops-listen", s.OpsListen, ""},
		{"database.url", "--db", s.DB, pg.EnvURL},
		{"database.tls_ca_file", "", "", pg.EnvCAFile},
		{"election.lease", "", "", Variable("lease")},
		{"election.heartbeat", "", "", Variable("heartbeat")},
		{"election.late_threshold", "", "", Variable("late_threshold")},
	} {
		switch {
		case one.said != "":
			d.said[one.place] = one.flag
		case one.variable != "" && s.Getenv(one.variable) != "":
			d.said[one.place] = one.variable
		}
	}
}

// database adds the faults of the database's address, with the key that sets it.
func (d *Decoder) database(getenv func(string) string, err error) {
	if _, ofIt := errors.AsType[*pg.ConfigError](err); !ofIt {
		d.environment(err)
		return
	}
	place := "database.tls_ca_file"
	if _, err := (pg.Config{URL: getenv(pg.EnvURL)}).Parse(); err != nil {
		place = "database.url"
	}
	d.Fault(place, "%v", err)
}

// environment adds faults whose text names the variable.
func (d *Decoder) environment(err error) {
	for _, err := range parts(err) {
		d.faults = append(d.faults, Fault{Text: err.Error()})
	}
}

// parts splits joined errors.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
