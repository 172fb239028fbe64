package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// What is sent with a wait is sent until a node answers, under one key, and its sender is told once. Without one it ends at once.
func TestSendsUntilANodeAnswers(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body struct{ Key string }
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil || body.Key != "k" {
			t.Errorf("a node is sent the key %q, want that of the first time", body.Key)
		}
		if n := asked.Add(1); n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(sent{ID: "7"})
	}))
	defer node.Close()
	c := NewClient(node.URL, "")
	if err := c.Prepare(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	s := &Shell{World: World{Stderr: &told}}
	if id, err := s.Sends(t.Context(), c, false, "/v1/x", "k", map[string]string{"key": "k"}); err == nil {
		t.Errorf("without a wait it answers %q, want the error of the first node", id)
	}
	if id, err := s.Sends(t.Context(), c, true, "/v1/x", "k", map[string]string{"key": "k"}); id != "7" || err != nil || strings.Count(told.String(), "\n") != 1 {
		t.Errorf("got %q and %v, and the sender was told %q", id, err, &told)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	c = NewClient(gone.URL, "")
	if err := c.Prepare(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sends(t.Context(), c, false, "/v1/x", "k", nil); !Passing(err) {
		t.Errorf("where nothing listens it says %v, want one that may pass", err)
	}
}
