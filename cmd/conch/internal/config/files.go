package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
)

// Files is one [[files]]: file data that followers hold too. Pushing it is a role of
// the node, behind the fenced door.
type Files struct {
	Scope     string
	Dir       string            // of this node alone
	Nodes     map[string]string // by instance_id, the URL of the node's API; this node may be among them
	TokenFile string            // its first token is presented to the others
	CAFile    string            // their certificates are verified against this; empty: the system's roots
	Copies    *int              // followers that hold a write before it is acknowledged; nil: as the wing says
	Repair    time.Duration     // between looks whether followers still have everything; 0: as the wing says
}

// Peers are all nodes but the one of that name.
func (f Files) Peers(id string) map[string]string {
	others := maps.Clone(f.Nodes)
	delete(others, id)
	return others
}

func (d *decoder) files(place string, value any, c *Config) {
	for i, v := range d.tables(place, value, "[[files]]") {
		var one Files
		d.table(fmt.Sprintf("%s[%d]", place, i), v, map[string]setter{
			"scope": d.text(&one.Scope), "dir": d.path(&one.Dir), "peers": d.addresses(&one.Nodes),
			"token_file": d.path(&one.TokenFile), "ca_file": d.path(&one.CAFile),
			"copies": func(place string, v any) {
				n := 0
				d.count(&n)(place, v)
				one.Copies = &n
			},
			"repair_interval": d.span(&one.Repair),
		})
		c.Files = append(c.Files, one)
	}
}

// addresses is a table of URLs.
func (d *decoder) addresses(to *map[string]string) setter {
	return func(place string, value any) {
		table, ok := value.(map[string]any)
		if !ok {
			d.fault(place, `is no table such as { n1 = "http://127.0.0.1:7070" }`)
			return
		}
		*to = map[string]string{}
		for _, id := range slices.Sorted(maps.Keys(table)) {
			var text string
			d.text(&text)(under(place, id), table[id])
			(*to)[id] = text
		}
	}
}

func (d *decoder) validateFiles(c Config) {
	for i, f := range c.Files {
		place := fmt.Sprintf("files[%d]", i)
		if f.Scope == "" {
			d.fault(place+".scope", "is missing: it names what is led, and stands in the URL of each file")
		}
		if f.Dir == "" {
			d.fault(place+".dir", "is missing: name a folder of this node alone")
		}
		d.validatePeers(place, c, f)
	}
	d.validateDirs(c.Files)
}

// validateDirs keeps folders apart: each clears away what it has not written.
func (d *decoder) validateDirs(all []Files) {
	for i, f := range all {
		place := fmt.Sprintf("files[%d].dir", i)
		for first, other := range all {
			switch {
			case first == i || f.Dir == "" || other.Dir == "":
			case filepath.Clean(f.Dir) != filepath.Clean(other.Dir):
				if inside(f.Dir, other.Dir) {
					d.fault(place, "%s is inside %s, the folder of files[%d]: name one beside it", f.Dir, other.Dir, first)
				}
			case first < i:
				d.fault(place, "%s is the folder of files[%d] already", f.Dir, first)
			}
		}
	}
}

// inside tells a folder below another. Both are absolute by now.
func inside(dir, of string) bool {
	below, err := filepath.Rel(of, dir)
	return err == nil && filepath.IsLocal(below)
}

func (d *decoder) validatePeers(place string, c Config, f Files) {
	others := f.Peers(c.Election.ID)
	if len(others) > 0 && c.Election.ID == "" {
		d.fault(place+".peers", "needs instance_id in [node], or --id: the other nodes know this one by it")
	}
	if len(others) > 0 && c.Node.Standalone {
		d.fault(place+".peers", "a standalone node has nobody to push to: take one of the two out")
	}
	for _, id := range slices.Sorted(maps.Keys(f.Nodes)) {
		here := under(place+".peers", id)
		if err := election.ValidID(id); err != nil {
			d.fault(here, "%s", plain(err))
		}
		// Not repeated: a password may be in it.
		if u, err := url.Parse(f.Nodes[id]); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
			d.fault(here, "is not the URL of a node's API, such as http://127.0.0.1:7070")
		}
	}
	if f.Copies != nil && *f.Copies > len(others) {
		d.fault(place+".copies", "%d is more than the %d other nodes", *f.Copies, len(others))
	}
}
