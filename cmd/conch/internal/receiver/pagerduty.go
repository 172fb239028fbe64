package receiver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/PagerDuty/go-pagerduty"

	"github.com/conchhq/conch/alerts"
)

// pager is a service of PagerDuty, told by its events API.
type pager struct {
	url string // "": the usual one
	key string
}

const (
	mostKey     = 255  // characters of a key
	mostSummary = 1024 // of what it is about
)

func (p pager) tell(ctx context.Context, w *way, words *Words) outcome {
	o := w.post(func(client *http.Client) error {
		options := []pagerduty.ClientOptions{}
		if p.url != "" {
			options = append(options, pagerduty.WithV2EventsAPIEndpoint(strings.TrimSuffix(p.url, "/")))
		}
		c := pagerduty.NewClient("", options...)
		c.HTTPClient = client
		_, err := c.ManageEventWithContext(ctx, p.event(words))
		return err
	})
	o.ends = []int{http.StatusAccepted}
	return o
}

// event is a message in PagerDuty's words. It stays far below the 512 kB that they may have, since all words are bounded.
func (p pager) event(words *Words) *pagerduty.V2Event {
	key := words.Key
	if len(key) > mostKey {
		sum := sha256.Sum256([]byte(key))
		key = "conch/" + hex.EncodeToString(sum[:])
	}
	e := &pagerduty.V2Event{RoutingKey: p.key, Action: "resolve", DedupKey: key}
	if words.Status != alerts.Firing {
		return e
	}
	details := map[string]any{"seq": words.Seq}
	for _, f := range words.facts() {
		details[f.Name] = f.Text
	}
	for _, f := range words.More {
		details[f.Name] = f.Text
	}
	if words.Description != "" {
		details["description"] = words.Description
	}
	var members []map[string]any
	for _, m := range words.Members {
		members = append(members, map[string]any{"labels": drawn(m.Labels), "value": number(m.Value), "since": m.Since.UTC().Format(time.RFC3339)})
	}
	details["members"], details["others"] = members, words.Others
	source := words.Cluster
	if source == "" {
		source = "conch"
	}
	e.Action, e.Client, e.ClientURL = "trigger", "conch", words.Link
	e.Payload = &pagerduty.V2Payload{
		Summary: clip(words.title(), mostSummary), Source: source, Severity: severityOf(words.Severity), Class: short(words.Rule), Group: words.Cluster, Details: details,
	}
	if !words.Since.IsZero() {
		e.Payload.Timestamp = words.Since.UTC().Format(time.RFC3339)
	}
	return e
}

// severityOf maps what people write to what PagerDuty orders by. A word that is not known wakes somebody.
func severityOf(text string) string {
	switch strings.ToLower(text) {
	case "page", "critical", "emergency", "fatal":
		return "critical"
	case "warn", "warning", "ticket":
		return "warning"
	case "info", "notice", "none", "debug":
		return "info"
	}
	return "error"
}
