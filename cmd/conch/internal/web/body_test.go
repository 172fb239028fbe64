package web

import (
	"strings"
	"testing"
)

// What of a body has the wrong kind is said in words for people, without types of this program.
func TestWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	var v struct {
		Since *uint64               `json:"since"`
		Step  int64                 `json:"step"`
		Ratio float64               `json:"ratio"`
		Fresh bool                  `json:"fresh"`
		Name  string                `json:"name"`
		Bytes []byte                `json:"bytes"`
		Names []string              `json:"names"`
		In    struct{ Deep uint64 } `json:"in"`
	}
	for body, want := range map[string]string{
		`{"since":-1}`:       "since is -1, and has to be a whole number, 0 or more",
		`{"since":1.5}`:      "since is 1.5, and has to be a whole number, 0 or more",
		`{"since":"7"}`:      "since is a text, and has to be a whole number, 0 or more",
		`{"step":[]}`:        "step is an array, and has to be a whole number",
		`{"ratio":true}`:     "ratio is true or false, and has to be a number",
		`{"fresh":{}}`:       "fresh is an object, and has to be true or false",
		`{"name":1}`:         "name is a number, and has to be a text",
		`{"bytes":1}`:        "bytes is a number, and has to be a text",
		`{"names":"a"}`:      "names is a text, and has to be an array",
		`{"in":7}`:           "in is a number, and has to be an object",
		`{"in":{"Deep":-2}}`: "in.Deep is -2, and has to be a whole number, 0 or more",
		`[]`:                 "the document is an array, and has to be an object",
		`{"other":1}`:        "other",
		`{"since":1} {}`:     "something follows",
	} {
		if err := Decode([]byte(body), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: it says %v, want %q", body, err, want)
		}
	}
}
