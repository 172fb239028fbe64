package receiver

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// The kinds of receivers.
const (
	PagerDuty    = "pagerduty"
	Slack        = "slack"
	Webhook      = "webhook"
	Alertmanager = "alertmanager"
	Email        = "email"
	Heartbeat    = "heartbeat" // is not told of alerts, but called while they are evaluated
)

// kinds are what receivers of each kind do with a message that they are told again.
var kinds = map[string]alerts.Kind{PagerDuty: alerts.Keyed, Slack: alerts.Text, Webhook: alerts.Keyed, Alertmanager: alerts.Level, Email: alerts.Text, Heartbeat: alerts.Text}

// Config is one [[notify]]. Of a secret it has the file or the variable of the environment that holds it.
type Config struct {
	Name, Kind string

	URL, URLFile, URLEnv                string // pagerduty (another endpoint), slack, webhook, alertmanager, heartbeat
	CAFile                              string // of what signs its certificate; empty: the system's
	RoutingKeyFile, RoutingKeyEnv       string // pagerduty
	TokenFile, TokenEnv                 string // webhook, alertmanager: sent as a bearer token
	SecretFile, SecretOld, SecretEnv    string // webhook: signs; SecretOld signs too, while a secret is changed
	Server, TLS                         string // email: host or host:port; "starttls", "tls" or "none"
	Username, PasswordFile, PasswordEnv string // email
	From                                string // email: one address
	To                                  []string
}

// The ways to a mail server.
const (
	startTLS = "starttls"
	onlyTLS  = "tls"
	noTLS    = "none"
)

// ports are those of a mail server that is named without one.
var ports = map[string]string{startTLS: "587", onlyTLS: "465", noTLS: "25"}

const (
	mostTo     = 10   // addresses of an e-mail
	mostURL    = 2000 // bytes
	leastToken = 4    // bytes of a secret: a shorter one cannot be kept out of what a receiver says
)

// Section is [[notify]]. It has no role: alerts are told by the node that evaluates them.
type Section struct{ all []Config }

// Table implements config.Section.
func (*Section) Table() string { return "notify" }

// Settle implements config.Section.
func (*Section) Settle(*config.Decoder, config.Config) {}

// Roles implements config.Section.
func (*Section) Roles() []config.Role { return nil }

// All returns what is configured, heartbeats too.
func (s *Section) All() []Config { return slices.Clone(s.all) }

// Receivers returns those that can be told of alerts, by the names that notify uses: all but heartbeats.
func (s *Section) Receivers() (all []alerts.Receiver) {
	for _, c := range s.all {
		if kind, known := kinds[c.Kind]; known && c.Kind != Heartbeat {
			all = append(all, alerts.Receiver{Name: c.Name, Kind: kind})
		}
	}
	return all
}

// Open opens all receivers, heartbeats too. Faults have the place of their key, such as notify[0].url_file; a receiver with one is left out.
func (s *Section) Open(getenv func(string) string, fault func(place string, err error)) (all []*Receiver) {
	for i, c := range s.all {
		r := c.Open(getenv, func(key string, err error) { fault(fmt.Sprintf("%s[%d].%s", s.Table(), i, key), err) })
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{s.Table(): func(place string, value any) {
		for i, v := range d.Tables(place, value) {
			var c Config
			d.Table(fmt.Sprintf("%s[%d]", place, i), v, map[string]config.Setter{
				"name": d.Name(&c.Name), "kind": d.Word(&c.Kind), "ca_file": d.Path(&c.CAFile),
				"url": quiet(d, &c.URL), "url_file": d.Path(&c.URLFile), "url_env": d.Word(&c.URLEnv),
				"routing_key_file": d.Path(&c.RoutingKeyFile), "routing_key_env": d.Word(&c.RoutingKeyEnv),
				"token_file": d.Path(&c.TokenFile), "token_env": d.Word(&c.TokenEnv),
				"secret_file": d.Path(&c.SecretFile), "secret_file_old": d.Path(&c.SecretOld), "secret_env": d.Word(&c.SecretEnv),
				"server": d.Word(&c.Server), "tls": d.Word(&c.TLS), "username": d.Word(&c.Username),
				"password_file": d.Path(&c.PasswordFile), "password_env": d.Word(&c.PasswordEnv),
				"from": d.Word(&c.From), "to": d.Texts(&c.To),
			})
			s.all = append(s.all, c)
		}
	}}
}

// quiet accepts a text that a fault must not quote.
func quiet(d *config.Decoder, to *string) config.Setter {
	return func(place string, value any) {
		text, is := value.(string)
		if *to = text; !is || text == "" {
			d.Fault(place, "is not one text in quotation marks")
		}
	}
}

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, _ config.Config) {
	names := map[string]int{}
	for i, c := range s.all {
		place := fmt.Sprintf("%s[%d]", s.Table(), i)
		switch first, taken := names[c.Name]; {
		case c.Name == "":
			d.Fault(place+".name", "is missing: alerts name their receivers, and what each was told is stored under it")
		case taken:
			d.Fault(place+".name", "%q is the name of notify[%d] already", c.Name, first)
		default:
			names[c.Name] = i
		}
		all := c.faults()
		for _, key := range slices.Sorted(maps.Keys(all)) {
			d.Fault(config.Under(place, key), "%s", all[key])
		}
	}
}

// use is a key of the file, and whether a receiver has it.
type use struct {
	key string
	is  bool
}

// uses lists what is given, without name and kind.
func (c Config) uses() []use {
	return []use{
		{"url", c.URL != ""},
		{"url_file", c.URLFile != ""},
		{"url_env", c.URLEnv != ""},
		{"ca_file", c.CAFile != ""},
		{"routing_key_file", c.RoutingKeyFile != ""},
		{"routing_key_env", c.RoutingKeyEnv != ""},
		{"token_file", c.TokenFile != ""},
		{"token_env", c.TokenEnv != ""},
		{"secret_file", c.SecretFile != ""},
		{"secret_file_old", c.SecretOld != ""},
		{"secret_env", c.SecretEnv != ""},
		{"server", c.Server != ""},
		{"tls", c.TLS != ""},
		{"username", c.Username != ""},
		{"password_file", c.PasswordFile != ""},
		{"password_env", c.PasswordEnv != ""},
		{"from", c.From != ""},
		{"to", c.To != nil},
	}
}

// uses are the keys of each kind, beside name, kind and ca_file.
var uses = map[string][]string{
	PagerDuty:    {"routing_key_file", "routing_key_env", "url"},
	Slack:        {"url_file", "url_env"},
	Webhook:      {"url", "url_file", "url_env", "secret_file", "secret_file_old", "secret_env", "token_file", "token_env"},
	Alertmanager: {"url", "url_file", "url_env", "token_file", "token_env"},
	Email:        {"server", "tls", "username", "password_file", "password_env", "from", "to"},
	Heartbeat:    {"url", "url_file", "url_env"},
}

// faults returns what is wrong, by key.
func (c Config) faults() map[string]string {
	all := map[string]string{}
	known, is := uses[c.Kind]
	if !is {
		all["kind"] = fmt.Sprintf("%q is none of %s", c.Kind, strings.Join([]string{PagerDuty, Slack, Webhook, Alertmanager, Email, Heartbeat}, ", "))
		return all
	}
	for _, one := range c.uses() {
		if one.is && one.key != "ca_file" && !slices.Contains(known, one.key) {
			all[one.key] = fmt.Sprintf("is no key of the kind %q: these are: %s", c.Kind, strings.Join(known, ", "))
			if c.Kind == Slack && one.key == "url" {
				all[one.key] = "is a secret, since all who know it may write to the channel: write it into a file that only this user can read, and name that as url_file"
			}
		}
	}
	switch c.Kind {
	case PagerDuty:
		all["routing_key_file"] = either("the file whose first line is the integration key", c.RoutingKeyFile, c.RoutingKeyEnv)
	case Email:
		c.mailFaults(all)
	default:
		all["url_file"] = either("the file whose first line is the address", c.URL, c.URLFile, c.URLEnv)
	}
	if c.Kind == Webhook {
		all["secret_file"] = either("a file whose first line is the secret that signs", c.SecretFile, c.SecretEnv)
	}
	if c.TokenFile != "" && c.TokenEnv != "" {
		all["token_file"] = "is there beside token_env: keep one of them"
	}
	if c.URL != "" && all["url"] == "" {
		all["url"] = said(checkURL(c.URL, false))
	}
	for key, fault := range all {
		if fault == "" {
			delete(all, key)
		}
	}
	return all
}

// either says what is wrong unless one value is given.
func either(what string, values ...string) string {
	switch n := len(slices.DeleteFunc(values, func(v string) bool { return v == "" })); n {
	case 0:
		return "is missing: name " + what
	case 1:
		return ""
	}
	return "is given in several ways: keep one of them"
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (c Config) mailFaults(all map[string]string) {
	if _, _, err := c.mailServer(); err != nil {
		all["server"] = err.Error()
	}
	if _, is := ports[c.TLS]; !is && c.TLS != "" {
		all["tls"] = fmt.Sprintf("%q is none of %s, %s, %s", c.TLS, startTLS, onlyTLS, noTLS)
	}
	if _, err := mail.ParseAddress(c.From); err != nil {
		all["from"] = fmt.Sprintf("%q is no address such as conch@example.com", c.From)
	}
	switch {
	case len(c.To) == 0:
		all["to"] = "is missing: list the addresses of those who are told"
	case len(c.To) > mostTo:
		all["to"] = fmt.Sprintf("has more than %d addresses: name a mailing list", mostTo)
	}
	for i, to := range c.To {
		if _, err := mail.ParseAddress(to); err != nil {
			all[fmt.Sprintf("to[%d]", i)] = fmt.Sprintf("%q is no address such as ops@example.com", to)
		}
	}
	if c.Username == "" && (c.PasswordFile != "" || c.PasswordEnv != "") {
		all["username"] = "is missing: there is a password"
	} else if c.Username != "" {
		all["password_file"] = either("the file whose first line is the password of "+strconv.Quote(c.Username), c.PasswordFile, c.PasswordEnv)
		if c.TLS == noTLS {
			all["tls"] = "sends the password for all to read: take the password out, or use starttls"
		}
	}
}

// mailServer returns host and port.
func (c Config) mailServer() (host string, port int, err error) {
	address, way := c.Server, c.TLS
	if way == "" {
		way = startTLS
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), ports[way])
	}
	host, text, err := net.SplitHostPort(address)
	if port, _ = strconv.Atoi(text); err != nil || host == "" || strings.ContainsAny(host, "/@ ") || port < 1 || port > 65535 {
		return "", 0, errors.New("is not a server such as mail.example.com or mail.example.com:587")
	}
	return host, port, nil
}

// checkURL says what is wrong with an address, and quotes nothing of it.
func checkURL(text string, secret bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("is not an address such as https://hooks.example.com/alerts")
	case len(text) > mostURL:
		return fmt.Errorf("is longer than %d bytes", mostURL)
	case u.User != nil && !secret:
		return errors.New("has a user or a password in it: write the whole address into a file that only this user can read, and name that as url_file")
	case u.Fragment != "":
		return errors.New("has a part after #, which is not sent: take it out")
	}
	return nil
}
