package files

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
)

// Section is all [[files]] tables.
type Section struct{ all []Files }

// Files is one [[files]] table. Leading its scope is a role of the node.
type Files struct {
	Scope     string
	Dir       string            // folder of this node, for this scope alone
	Nodes     map[string]string // instance_id to URL of each node's API; may include this node
	TokenFile string            // file whose first token is sent to the other nodes
	CAFile    string            // certificate authorities of the other nodes; empty: the system's
	Copies    *int              // followers that store a write before it is acknowledged; nil: chunksync's default
	Repair    time.Duration     // interval of checks that followers lack nothing; 0: chunksync's default
}

// Peers returns all Nodes except the one with that ID.
func (f Files) Peers(id string) map[string]string {
	others := maps.Clone(f.Nodes)
	delete(others, id)
	return others
}

// Table implements config.Section.
func (*Section) Table() string { return "files" }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{s.Table(): func(place string, value any) {
		for i, v := range d.Tables(place, value) {
			var one Files
			d.Table(fmt.Sprintf("%s[%d]", place, i), v, map[string]config.Setter{
				"scope": d.Text(&one.Scope), "dir": d.Path(&one.Dir), "peers": addresses(d, &one.Nodes),
				"token_file": d.Path(&one.TokenFile), "ca_file": d.Path(&one.CAFile),
				"copies": func(place string, v any) {
					n := 0
					d.Count(&n)(place, v)
					one.Copies = &n
				},
				"repair_interval": d.Span(&one.Repair),
			})
			s.all = append(s.all, one)
		}
	}}
}

// Settle implements config.Section.
func (*Section) Settle(*config.Decoder, config.Config) {}

// Roles implements config.Section. The fenced door is enough, since followers refuse stale pushes.
func (s *Section) Roles() (roles []config.Role) {
	for _, f := range s.all {
		roles = append(roles, config.Role{Name: f.Scope, Scope: f.Scope, Fenced: true, Does: f})
	}
	return roles
}

// addresses reads a table of URLs.
func addresses(d *config.Decoder, to *map[string]string) config.Setter {
	return func(place string, value any) {
		table, ok := value.(map[string]any)
		if !ok {
			d.Fault(place, `must be a table such as { n1 = "http://127.0.0.1:7070" }`)
			return
		}
		*to = map[string]string{}
		for _, id := range slices.Sorted(maps.Keys(table)) {
			var text string
			d.Text(&text)(config.Under(place, id), table[id])
			(*to)[id] = text
		}
	}
}

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	for i, f := range s.all {
		place := fmt.Sprintf("files[%d]", i)
		if f.Scope == "" {
			d.Fault(place+".scope", "is missing: it names what the node leads and is part of each file's URL")
		}
		if f.Dir == "" {
			d.Fault(place+".dir", "is missing: name a folder that only this node uses")
		}
		validatePeers(d, place, c, f)
	}
	validateDirs(d, s.all)
}

// validateDirs refuses shared and nested folders, since each store needs its own.
func validateDirs(d *config.Decoder, all []Files) {
	owner := map[string]int{}
	for i, f := range slices.Backward(all) {
		owner[filepath.Clean(f.Dir)] = i
	}
	for i, f := range all {
		if f.Dir == "" {
			continue
		}
		place, dir := fmt.Sprintf("files[%d].dir", i), filepath.Clean(f.Dir)
		if first := owner[dir]; first < i {
			d.Fault(place, "%s is already the folder of files[%d]", f.Dir, first)
		}
		for at := filepath.Dir(dir); at != dir; dir, at = at, filepath.Dir(at) {
			if other, is := owner[at]; is && all[other].Dir != "" {
				d.Fault(place, "%s is inside %s, the folder of files[%d]: name one beside it", f.Dir, all[other].Dir, other)
			}
		}
	}
}

func validatePeers(d *config.Decoder, place string, c config.Config, f Files) {
	others := f.Peers(c.Election.ID)
	if len(others) > 0 && c.Election.ID == "" {
		d.Fault(place+".peers", "needs instance_id in [node], or --id: the other nodes identify this one by it")
	}
	if len(others) > 0 && c.Node.Standalone {
		d.Fault(place+".peers", "a standalone node has no peers: remove peers or standalone")
	}
	for _, id := range slices.Sorted(maps.Keys(f.Nodes)) {
		here := config.Under(place+".peers", id)
		if err := election.ValidID(id); err != nil {
			d.Fault(here, "%s", config.Plain(err))
		}
		// Never printed: it may contain a password.
		if u, err := url.Parse(f.Nodes[id]); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
			d.Fault(here, "is not the URL of a node's API, such as http://127.0.0.1:7070")
		}
	}
	if f.Copies != nil && *f.Copies > len(others) {
		d.Fault(place+".copies", "%d is more than the %d other nodes", *f.Copies, len(others))
	}
}
