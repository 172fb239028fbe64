package transactions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/internal/secretfile"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
)

// Webhook is one [[webhooks]]: a receiver of events.
type Webhook struct {
	Name          string
	URL           string
	SecretFile    string
	SecretFileOld string   // signs too, while a secret is changed; empty: none
	Events        []string // of kinds of events
	Accounts      []string // names or addresses; nil: every account of the database
	Local         bool     // it may be on this host or its link
}

// deliveries is what the role of webhooks does. It says nothing of them: a reload takes effect in the same term.
type deliveries struct{}

// hooksScope is what the node leads that tells receivers of events.
const hooksScope = "webhooks"

// defaultEvents are what a service needs that ships for an end, and hears when it is taken back.
var defaultEvents = []string{string(pending.ToldFinal), string(pending.ToldRejected), string(pending.ToldRewound), string(pending.ToldWaiting)}

func (s *Section) readWebhooks(d *config.Decoder, place string, value any) {
	for i, v := range d.Tables(place, value) {
		var one Webhook
		d.Table(fmt.Sprintf("%s[%d]", place, i), v, map[string]config.Setter{
			"name": d.Name(&one.Name), "url": d.Text(&one.URL), "secret_file": d.Path(&one.SecretFile), "secret_file_old": d.Path(&one.SecretFileOld),
			"events": d.Texts(&one.Events), "accounts": d.Texts(&one.Accounts), "local": d.Flag(&one.Local),
		})
		if one.Events == nil {
			one.Events = defaultEvents
		}
		s.webhooks = append(s.webhooks, one)
	}
}

func (s *Section) validateWebhooks(d *config.Decoder, c config.Config) {
	names := map[string]int{}
	for i, w := range s.webhooks {
		place := fmt.Sprintf("webhooks[%d]", i)
		first, taken := names[w.Name]
		switch {
		case w.Name == "":
			d.Fault(place+".name", "is missing: the receiver's place is stored under it")
		case taken:
			d.Fault(place+".name", "%q is the name of webhooks[%d] already", w.Name, first)
		default:
			names[w.Name] = i
		}
		if c.Node.Standalone {
			d.Fault(place, "a standalone node has no events: give it a database, or take the receiver out")
		}
		if len(s.accounts) == 0 {
			d.Fault(place, "there are no [[accounts]], of whose transactions it is told: add one, or take the receiver out")
		}
		if err := hook.CheckURL(w.URL); err != nil {
			d.Fault(place+".url", "%v", err)
		}
		if w.SecretFile == "" {
			d.Fault(place+".secret_file", "is missing: name a file whose first line is the secret that signs")
		}
		s.validateSelection(d, place, w)
	}
}

// validateSelection finds events and accounts that do not exist.
func (s *Section) validateSelection(d *config.Decoder, place string, w Webhook) {
	var kinds []string
	for _, k := range pending.Kinds() {
		kinds = append(kinds, string(k))
	}
	for i, e := range w.Events {
		if !slices.Contains(kinds, e) {
			d.Fault(fmt.Sprintf("%s.events[%d]", place, i), "%q is none of %s", e, strings.Join(kinds, ", "))
		}
	}
	for i, name := range w.Accounts {
		if !slices.ContainsFunc(s.accounts, func(a Account) bool { return a.Name == name }) {
			d.Fault(fmt.Sprintf("%s.accounts[%d]", place, i), "%q is the name of no [[accounts]]", name)
		}
	}
	if w.Events != nil && len(w.Events) == 0 {
		d.Fault(place+".events", "is empty: leave it out for %s, or take the receiver out", strings.Join(defaultEvents, ", "))
	}
	if w.Accounts != nil && len(w.Accounts) == 0 {
		d.Fault(place+".accounts", "is empty: leave it out for all accounts, or take the receiver out")
	}
}

// keys reads the secrets.
func (w Webhook) keys(fault func(key string, err error)) (all [][]byte) {
	for _, of := range [][2]string{{"secret_file", w.SecretFile}, {"secret_file_old", w.SecretFileOld}} {
		if of[1] == "" {
			continue
		}
		line, err := secretfile.Line(of[1])
		var key []byte
		if err == nil {
			key, err = hook.ParseSecret(line)
		}
		if err != nil {
			fault(of[0], err)
		}
		all = append(all, key)
	}
	return all
}

// accountsOf returns the accounts that a receiver is told of; nil: all.
func (w Webhook) accountsOf(all []Account) (some []accountID) {
	for _, name := range w.Accounts {
		for _, a := range all {
			if a.Name == name {
				some = append(some, a.id())
			}
		}
	}
	return some
}
