package files

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// held is how one scope's files stand on this node.
type held struct {
	Scope   string    `json:"scope"`
	Version Version   `json:"version"`
	Leading bool      `json:"leading"`
	Holder  string    `json:"holder"`
	AsOf    time.Time `json:"as_of"`
}

func (c Catalog) held(scope string) held {
	return held{scope, c.Version, c.Leading, c.Holder, c.AsOf.UTC()}
}

// shelved is how much that is, and what the followers hold, which the leader knows.
type shelved struct {
	held

	Files int                `json:"files"`
	Bytes int64              `json:"bytes"`
	Peers map[string]Version `json:"peers,omitempty"`
}

func (a *api) getScopes(w http.ResponseWriter, _ *http.Request) error {
	out := struct {
		AsOf   time.Time `json:"as_of"`
		Scopes []shelved `json:"scopes"`
	}{time.Now().UTC(), []shelved{}}
	for _, scope := range a.files.Scopes() {
		f := a.files.Scope(scope)
		if f == nil {
			continue // a reload has just removed it
		}
		c := f.Catalog()
		one := shelved{held: c.held(scope), Files: len(c.Files), Peers: c.Peers}
		for _, f := range c.Files {
			one.Bytes += f.Size
		}
		out.Scopes = append(out.Scopes, one)
	}
	return web.Answer(w, http.StatusOK, out)
}

// getNamedCatalog answers with a part of a catalog. Its scope is in the query, since proxies decode a slash in a path.
func (a *api) getNamedCatalog(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	most, err := web.Limit(r)
	if err != nil {
		return err
	}
	f, err := a.dataOf(q.Get("scope"))
	if err != nil {
		return err
	}
	c, text := f.Catalog(), strings.ToLower(q.Get("q"))
	all := slices.DeleteFunc(slices.Clone(c.Files), func(e Entry) bool { return !strings.Contains(strings.ToLower(e.Name), text) })
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	out := struct {
		held

		Found int     `json:"found"`
		Files []Entry `json:"files"`
		Next  *string `json:"next"`
	}{held: c.held(q.Get("scope")), Found: len(all)}
	all = slices.DeleteFunc(all, func(e Entry) bool { return e.Name <= q.Get("after") })
	if len(all) > most {
		all, out.Next = all[:most], &all[most-1].Name
	}
	out.Files = append([]Entry{}, all...)
	return web.Answer(w, http.StatusOK, out)
}
