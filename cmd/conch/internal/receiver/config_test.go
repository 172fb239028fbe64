package receiver

import (
	"reflect"
	"strings"
	"testing"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
)

func load(t *testing.T, text string) (config.Config, error) {
	t.Helper()
	return configtest.Load(t, "[database]\nurl = \"postgres://db\"\n[[roles]]\nname = \"a\"\n"+text, config.Source{Sections: configtest.Beside(func() config.Section { return &Section{} })}, nil)
}

// F9: receivers of each kind, as users write them.
func TestKindsOfReceivers(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
[[notify]]
name = "oncall"
kind = "pagerduty"
routing_key_file = "/etc/conch/pagerduty"
[[notify]]
name = "channel"
kind = "slack"
url_env = "SLACK_URL"
[[notify]]
name = "program"
kind = "webhook"
url = "https://alerts.example.com/conch"
secret_file = "/etc/conch/secret"
secret_file_old = "/etc/conch/old"
token_env = "TOKEN"
ca_file = "/etc/conch/ca.pem"
[[notify]]
name = "central"
kind = "alertmanager"
url = "http://alertmanager:9093/prefix"
[[notify]]
name = "letters"
kind = "email"
server = "mail.example.com"
username = "conch"
password_file = "/etc/conch/mail"
from = "conch <conch@example.com>"
to = ["ops@example.com", "Second <two@example.com>"]
[[notify]]
name = "alive"
kind = "heartbeat"
url_file = "/etc/conch/heartbeat"
`)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Of[*Section](c)
	want := []alerts.Receiver{{Name: "oncall", Kind: alerts.Keyed}, {Name: "channel", Kind: alerts.Text}, {Name: "program", Kind: alerts.Keyed}, {Name: "central", Kind: alerts.Level}, {Name: "letters", Kind: alerts.Text}}
	if got := s.Receivers(); !reflect.DeepEqual(got, want) || len(s.All()) != 6 {
		t.Errorf("got the receivers %+v, want %+v and a heartbeat", got, want)
	}
	if host, port, err := s.All()[4].mailServer(); host != "mail.example.com" || port != 587 || err != nil {
		t.Errorf("got the server %s, %d, %v", host, port, err)
	}
	var faults []string
	opened := s.Open(func(string) string { return "https://hooks.example.com/SECRET" }, func(place string, err error) {
		faults = append(faults, place)
		if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the fault of %s shows the secret: %v", place, err)
		}
	})
	if want := "notify[0].routing_key_file notify[2].ca_file notify[2].secret_file notify[2].secret_file_old notify[4].password_file notify[5].url_file"; strings.Join(faults, " ") != want {
		t.Errorf("got the faults of %v, want those of %s", faults, want)
	}
	if len(opened) != 2 || opened[0].Name != "channel" || opened[1].Kind() != alerts.Level || opened[1].Beats() {
		t.Errorf("got %d receivers", len(opened))
	}
	if got := s.All()[2]; got.SecretOld != "/etc/conch/old" || got.CAFile != "/etc/conch/ca.pem" || got.TokenEnv != "TOKEN" {
		t.Errorf("got %+v", got)
	}
}

// Bad input: each fault has its key and says what to write, and no fault shows an address that may be a secret.
func TestFaultsOfReceivers(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`kind = "slack"` + "\nurl_env = \"A\"":                                                                                                   "notify[0].name: is missing",
		`name = "a"`:                                                                                                                             `notify[0].kind: "" is none of pagerduty, slack, webhook, alertmanager, email, heartbeat`,
		"name = \"a\"\nkind = \"pigeon\"":                                                                                                        `notify[0].kind: "pigeon" is none of`,
		"name = \"a\"\nkind = \"slack\"":                                                                                                         "notify[0].url_file: is missing: name the file",
		"name = \"a\"\nkind = \"slack\"\nurl = \"https://hooks/SECRET\"":                                                                         "notify[0].url: is a secret",
		"name = \"a\"\nkind = \"slack\"\nurl_file = \"u\"\nurl_env = \"U\"":                                                                      "notify[0].url_file: is given in several ways",
		"name = \"a\"\nkind = \"slack\"\nurl_file = \"u\"\nrouting_key_env = \"U\"":                                                              `notify[0].routing_key_env: is no key of the kind "slack"`,
		"name = \"a\"\nkind = \"pagerduty\"":                                                                                                     "notify[0].routing_key_file: is missing",
		"name = \"a\"\nkind = \"pagerduty\"\nrouting_key_env = \"U\"\nurl = \"events\"":                                                          "notify[0].url: is not an address",
		"name = \"a\"\nkind = \"webhook\"\nurl = \"https://a.example\"":                                                                          "notify[0].secret_file: is missing",
		"name = \"a\"\nkind = \"heartbeat\"\nurl = \"https://u:SECRET@a.example\"":                                                               "notify[0].url: has a user or a password in it",
		"name = \"a\"\nkind = \"heartbeat\"\nurl = \"https://a.example/#SECRET\"":                                                                "notify[0].url: has a part after #",
		"name = \"a\"\nkind = \"heartbeat\"\nurl = [\"https://SECRET\"]":                                                                         "notify[0].url: is not one text",
		"name = \"a\"\nkind = \"alertmanager\"\nurl = \"http://a\"\ntoken_env = \"T\"\ntoken_file = \"t\"":                                       "notify[0].token_file: is there beside token_env",
		"name = \"a\"\nkind = \"email\"\nserver = \"http://m\"\nfrom = \"a@b\"\nto = [\"a@b\"]":                                                  "notify[0].server: is not a server",
		"name = \"a\"\nkind = \"email\"\nserver = \"m:99999\"\nfrom = \"a@b\"\nto = [\"a@b\"]":                                                   "notify[0].server: is not a server",
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"nobody\"\nto = [\"a@b\"]":                                                      `notify[0].from: "nobody" is no address`,
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"a@b\"":                                                                         "notify[0].to: is missing",
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"a@b\"\nto = [\"a@b\", \"c\"]":                                                  `notify[0].to[1]: "c" is no address`,
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"a@b\"\nto = [\"a@b\"]\nusername = \"u\"":                                       "notify[0].password_file: is missing",
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"a@b\"\nto = [\"a@b\"]\npassword_env = \"P\"":                                   "notify[0].username: is missing",
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"a@b\"\nto = [\"a@b\"]\ntls = \"some\"":                                         `notify[0].tls: "some" is none of`,
		"name = \"a\"\nkind = \"email\"\nserver = \"m\"\nfrom = \"a@b\"\nto = [\"a@b\"]\ntls = \"none\"\nusername = \"u\"\npassword_env = \"P\"": "notify[0].tls: sends the password for all to read",
		"name = \"a\"\nkind = \"slack\"\nurl_env = \"U\"\n[[notify]]\nname = \"a\"\nkind = \"slack\"\nurl_env = \"V\"":                           `notify[1].name: "a" is the name of notify[0] already`,
		"name = \"a\"\nkind = \"slack\"\nurl_env = \"U\"\nchannel = \"x\"":                                                                       "notify[0].channel: unknown key",
	} {
		_, err := load(t, "[[notify]]\n"+text)
		configtest.Faults(t, err, []string{says}, "SECRET")
	}
}
