package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/live"
	"github.com/conchhq/conch/election"
)

// PublicURL reads where browsers reach a site: scheme, host and perhaps a path below which it is.
func PublicURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("public_url = %q is no address of a site: write one such as https://conch.example.com, with the path of a proxy if there is one", text)
	}
	return u, http.NewCrossOriginProtection().AddTrustedOrigin(u.Scheme + "://" + u.Host)
}

// session is the caller, as this process knows it, and the process.
type session struct {
	Name      string    `json:"name"`   // of the token
	May       string    `json:"may"`    // read, operate
	Tokens    bool      `json:"tokens"` // there are some: actions need one that may operate
	Node      string    `json:"node"`
	Cluster   string    `json:"cluster,omitempty"` // of all nodes together
	Version   string    `json:"version"`
	PublicURL string    `json:"public_url,omitempty"`
	Parts     []string  `json:"parts"` // tables of the configuration, and scopes
	Now       time.Time `json:"now"`
}

func (s *Site) getSession(w http.ResponseWriter, r *http.Request) error {
	who, _ := r.Context().Value(callerKey{}).(caller)
	is := session{
		Name: who.name, May: "read", Tokens: s.cfg.Tokens.Any(), Node: s.cfg.ID, Cluster: s.cfg.Cluster, Version: s.cfg.Version, PublicURL: s.cfg.PublicURL, Parts: []string{"scopes"}, Now: time.Now().UTC(),
	}
	if s.cfg.Parts != nil {
		is.Parts = append([]string{}, s.cfg.Parts()...)
	}
	if who.may == ToOperate {
		is.May = "operate"
	}
	return Answer(w, http.StatusOK, is)
}

// overview is the first line of a page and what stands beside it.
type overview struct {
	AsOf       *time.Time   `json:"as_of"` // null: nothing was read yet
	Stale      bool         `json:"stale,omitempty"`
	Version    uint64       `json:"version"`
	Source     live.Source  `json:"source"`
	Verdict    live.Verdict `json:"verdict"`
	Scopes     live.Counts  `json:"scopes"`
	Candidates []string     `json:"candidates"` // the live processes that campaign for a scope
	Holders    []live.Beat  `json:"holders"`
	LastChange *handOver    `json:"last_change"`
}

// handOver is the beginning of a term, with who led before.
type handOver struct {
	event
	From string `json:"from,omitempty"`
}

func (s *Site) getOverview(w http.ResponseWriter, r *http.Request) error {
	seen, err := s.shared.look(r.Context())
	if err != nil {
		return err
	}
	o := overview{
		AsOf: utc(&seen.at), Stale: seen.source.Database == live.Away, Version: seen.version, Source: seen.source, Scopes: live.Count(seen.rows),
		Candidates: []string{}, Holders: append([]live.Beat{}, seen.beats.Holders...),
	}
	o.Verdict = live.Judge(o.Scopes, seen.source)
	for _, row := range seen.rows {
		o.Candidates = append(o.Candidates, row.Candidates...)
	}
	slices.Sort(o.Candidates)
	o.Candidates = slices.Compact(o.Candidates)
	if last, from, is := live.LastChange(seen.tail); is {
		o.LastChange = &handOver{eventOf(last), from}
	}
	return Answer(w, http.StatusOK, o)
}

const (
	defaultRows = 500
	maxRows     = 10_000
)

// getRows lists scopes in few bytes, from what is kept for all viewers.
func (s *Site) getRows(w http.ResponseWriter, r *http.Request) error {
	q, err := rowQuery(r.URL.Query())
	if err != nil {
		return err
	}
	seen, err := s.shared.look(r.Context())
	switch {
	case err != nil:
		return err
	case seen.at.IsZero():
		return Failf(http.StatusServiceUnavailable, "%s", cmp.Or(seen.source.Why, "the database was not read yet")).
			Named("database-unavailable", "The database cannot be asked").RetryAfter(5)
	}
	stale := seen.source.Database == live.Away
	page := struct {
		asOf
		Version uint64      `json:"version"`
		Source  live.Source `json:"source"`
		Counts  live.Counts `json:"counts"` // of all, whatever is selected
		Found   int         `json:"found"`  // of them, how many are selected
		Rows    []live.Row  `json:"rows"`
		Next    string      `json:"next,omitempty"`
	}{asOf: asOf{AsOf: seen.at.UTC(), Stale: stale}, Version: seen.version, Source: seen.source, Counts: live.Count(seen.rows), Rows: []live.Row{}}
	rows, found := live.List(seen.rows, q)
	page.Rows, page.Found = append(page.Rows, rows...), found
	if len(rows) == q.Most && len(rows) > 0 {
		page.Next = placeText(rows[len(rows)-1].Place())
	}
	return Answer(w, http.StatusOK, page)
}

func rowQuery(v url.Values) (q live.Query, err error) {
	q.Text, q.Most = v.Get("q"), defaultRows
	for one := range strings.SplitSeq(v.Get("state"), ",") {
		if one == "" {
			continue
		}
		if !slices.Contains(live.States(), live.State(one)) {
			return q, Failf(http.StatusBadRequest, "state = %.40q is none of %s", one, stateNames()).Wrong("state")
		}
		q.States = append(q.States, live.State(one))
	}
	if text := v.Get("limit"); text != "" {
		if q.Most, err = strconv.Atoi(text); err != nil || q.Most < 1 || q.Most > maxRows {
			return q, Failf(http.StatusBadRequest, "limit = %.20q is not a number from 1 to %d", text, maxRows).Wrong("limit")
		}
	}
	if text := v.Get("after"); text != "" {
		state, scope, both := strings.Cut(text, ".")
		if !both || !slices.Contains(live.States(), live.State(state)) || election.ValidScope(scope) != nil {
			return q, Failf(http.StatusBadRequest, "after = %.40q is no place in the list: send next of the page before", text).Wrong("after")
		}
		q.After = &live.Place{State: live.State(state), Scope: scope}
	}
	return q, nil
}

func placeText(p live.Place) string { return string(p.State) + "." + p.Scope }

func stateNames() string {
	var names []string
	for _, s := range live.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// yes reads a parameter that is yes or no; no if it is missing.
func yes(r *http.Request, name string) (bool, error) {
	switch word := r.URL.Query().Get(name); word {
	case "", "no":
		return false, nil
	case "yes":
		return true, nil
	default:
		return false, Failf(http.StatusBadRequest, "%s = %.20q is neither yes nor no", name, word).Wrong(name)
	}
}

// unlisted returns the scopes with a role here, each with its holder if it is led without a database.
func (s *Site) unlisted() map[string]string {
	all := map[string]string{}
	for _, scope := range s.cfg.Electors.Scopes() {
		all[scope] = ""
		if g := s.cfg.Electors.Gate(scope); g != nil && s.cfg.Ask == nil {
			if h := doors(g); h.Role == "standalone" {
				all[scope] = h.Holder
			}
		}
	}
	return all
}
