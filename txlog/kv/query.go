package kv

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
)

// Entry is a key with its value, as answers have it. One of Value and Base64 is there.
type Entry struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value,omitempty"`
	Base64 *string         `json:"base64,omitempty"` // of bytes
}

// Got answers {"get":KEY}.
type Got struct {
	Entry

	Found bool `json:"found"`
}

// List answers {"prefix":TEXT}. If there is more, the same query with "after" goes on.
type List struct {
	Entries []Entry `json:"entries"`
	More    bool    `json:"more"`
	After   string  `json:"after,omitempty"` // the last key of the list, if there is more
}

// Count answers {"count":PREFIX}.
type Count struct {
	Count int `json:"count"`
}

const queries = `{"get":KEY}, {"count":TEXT}, or {"prefix":TEXT} with "limit" and "after"`

// view is what a store was at one time. It never changes.
type view struct{ keyed.View }

// Query answers a question: see the package. The error is of a question that is none.
func (s view) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	budget.Spend(len(query))
	if !utf8.Valid(query) {
		return nil, malformed("a query is a text in UTF-8")
	}
	of, err := object(query)
	if err != nil {
		return nil, malformed("a query is an object of JSON: " + queries)
	}
	for _, name := range of.sortedNames() {
		if !slices.Contains([]string{"get", "prefix", "count", "limit", "after"}, name) {
			return nil, malformed("a query has no field " + strconv.Quote(name) + ": it is " + queries)
		}
		if isText := strings.HasPrefix(string(of.get(name)), `"`); !isText && name != "limit" {
			return nil, malformed(strconv.Quote(name) + " is a text")
		}
	}
	switch {
	case of.get("get") != nil && len(of) == 1:
		return s.ask(text(of.get("get")))
	case of.get("count") != nil && len(of) == 1:
		budget.Spend(2 * s.Pieces()) // both ends of what is counted are looked for
		return answer(Count{s.With(text(of.get("count")))})
	case of.get("prefix") != nil:
		return s.list(of, budget)
	}
	return nil, malformed("a query is " + queries)
}

// answer writes an answer as it was typed: < is no danger here.
func answer(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, malformed("a value that is kept is no JSON: memory is wrong")
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func (s view) ask(key string) ([]byte, error) {
	v := s.Get(key)
	if v == "" {
		return answer(Got{Entry: Entry{Key: key}})
	}
	return answer(Got{Entry: entry(key, v.Text()), Found: true})
}

func entry(key, v string) Entry {
	if v[0] == isBytes {
		return Entry{Key: key, Base64: new(base64.StdEncoding.EncodeToString([]byte(v[1:])))}
	}
	return Entry{Key: key, Value: json.RawMessage(v[1:])}
}

func (s view) list(of fields, budget *txlog.Budget) ([]byte, error) {
	prefix, after, most := text(of.get("prefix")), text(of.get("after")), listed
	for _, name := range of.sortedNames() {
		switch name {
		case "prefix", "after":
		case "limit":
			if json.Unmarshal(of.get(name), &most) != nil || most < 1 {
				return nil, malformed(`"limit" is a number from 1 to ` + strconv.Itoa(mostListed))
			}
			most = min(most, mostListed)
		default:
			return nil, malformed("a list has no field " + strconv.Quote(name) + `: it has "prefix", "limit" and "after"`)
		}
	}
	out := List{Entries: []Entry{}}
	size := 0
	for v := range s.From(max(prefix, after)) {
		budget.Spend(1 + len(v.Text())/100) // a microsecond writes a hundred bytes and more
		if !strings.HasPrefix(v.Key(), prefix) {
			break
		}
		if v.Key() == after {
			continue
		}
		e := entry(v.Key(), v.Text())
		size += len(v.Key()) + len(v.Text())*4/3
		if len(out.Entries) == most || size > mostAnswer && len(out.Entries) > 0 {
			out.More, out.After = true, out.Entries[len(out.Entries)-1].Key
			break
		}
		out.Entries = append(out.Entries, e)
	}
	return answer(out)
}
