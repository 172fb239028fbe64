package receiver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/alerts"
)

// tellsTales are what no error may show: what opens a door alone, in all forms in which others write it.
func tellsTales() (all []string) {
	for _, s := range []string{secretPath, secretKey, secretToken, secretSign, secretMail, "SECRETquery0123", "SECRETpassword", "xSECRETx7Zq", "B0SECRET0", "user:SECRETpassword", "\x00conch\x00" + secretMail} {
		quoted, _ := json.Marshal(s) //nolint:errchkjson // a text
		all = append(all, s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), strings.Trim(string(quoted), `"`), base64.StdEncoding.EncodeToString([]byte(s)))
	}
	return append(all, "SECRET", "http://", "https://")
}

func judgeTales(t *testing.T, name string, err error, addresses ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: there is no error", name)
		return
	}
	for _, tale := range append(tellsTales(), addresses...) {
		if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tale)) {
			t.Errorf("%s: the error shows %q: %v", name, tale, err)
		}
	}
	if err.Error() != draw(err.Error()) {
		t.Errorf("%s: the error has characters that nobody sees: %q", name, err)
	}
}

// No error shows an address, a token or a key, whatever fails, and whatever a receiver says of them.
func TestErrorsShowNoSecret(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	strange := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(strange.Close)
	own := map[string][]string{PagerDuty: {secretKey}, Slack: {secretPath}, Webhook: {secretPath, secretToken, secretSign}, Alertmanager: {secretPath, secretToken, "SECRETpassword"}, Heartbeat: {secretPath}}
	echoes := func(kind string, status int, form func(string) string) string {
		return play(t, func(w http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			w.Header().Set("Location", "https://elsewhere.example"+req.URL.String())
			w.WriteHeader(status)
			said := form("you sent http://"+req.Host+req.URL.String()) + form(fmt.Sprint(" ", req.URL.Path, " ", req.Header, " "))
			for _, s := range own[kind] {
				said += form(s) + "\x1b[31m\u202e"
			}
			_, _ = io.WriteString(w, said+string(body))
		}).URL
	}
	none := func(s string) string { return s }
	for _, kind := range overHTTP {
		echo := func(status int, form func(string) string) string { return echoes(kind, status, form) }
		for name, base := range map[string]string{
			"refused":   "http://" + nobody.Addr().String(),
			"no name":   "http://no-such-host.invalid",
			"TLS":       strange.URL,
			"no TLS":    strings.Replace(echo(200, none), "http:", "https:", 1),
			"hangs up":  raw(t, ""),
			"no HTTP":   raw(t, "you sent "+strings.Join(own[kind], " ")+"\r\n\r\n"),
			"redirect":  echo(302, none),
			"refuses":   echo(400, none),
			"fails":     echo(500, none),
			"gateway":   echo(502, none),
			"escaped":   echo(400, url.QueryEscape),
			"in a path": echo(400, url.PathEscape),
			"in a page": echo(404, html.EscapeString),
			"shouted":   echo(404, strings.ToUpper),
			"in JSON":   echo(422, func(s string) string { b, _ := json.Marshal(s); return strings.ReplaceAll(string(b), "/", `\/`) }), //nolint:errchkjson // a text
			"long":      echo(422, func(s string) string { return strings.Repeat(s, 400) }),
		} {
			r := open(t, configOf(t, kind, base))
			_, err := tell(t, r, nil)
			judgeTales(t, kind+", "+name, err, strings.TrimPrefix(base, "http://"))
			if _, err = r.Try(t.Context(), nil, home); err != nil {
				judgeTales(t, kind+", "+name+", tried", err)
			}
		}
	}
}

// The same by e-mail, where a server quotes the line that it does not like, also that of the password.
func TestErrorsOfMailShowNoSecret(t *testing.T) {
	t.Parallel()
	plain := base64.StdEncoding.EncodeToString([]byte("\x00conch\x00" + secretMail))
	for _, at := range []string{"GREETING", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "DATA "} {
		for _, code := range []string{"451 4.7.1", "550 5.7.1", "wrong"} {
			o := openOffice(t, func(command string) string {
				if strings.HasPrefix(command, at) && (at != "DATA" || command == at) {
					return code + " you said " + command + " " + plain + " " + secretMail + " \x1b[31m\u202e"
				}
				return usual(command)
			})
			answer, err := tell(t, o.mailbox(t, nil), nil)
			judgeTales(t, at+" "+code, err, o.address)
			if answer == alerts.Taken {
				t.Errorf("%s %s: it is taken", at, code)
			}
		}
	}
	for name, change := range map[string]func(*Config){
		"a strange certificate": func(c *Config) { c.CAFile = "" },
		"no name":               func(c *Config) { c.Server = "no-such-host.invalid:25" },
		"another way":           func(c *Config) { c.TLS = onlyTLS },
	} {
		_, err := tell(t, openOffice(t, usual).mailbox(t, change), nil)
		judgeTales(t, name, err)
	}
}

// Bad input: a secret that others may read, that is not there or is none, is a fault that names its key.
func TestSecretsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	shared := fileOf(t, secretKey)
	if err := os.Chmod(shared, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"routing_key_file: every user":   {Kind: PagerDuty, RoutingKeyFile: shared},
		"routing_key_env: the variable":  {Kind: PagerDuty, RoutingKeyEnv: "NOT_THERE"},
		"routing_key_file: is shorter":   {Kind: PagerDuty, RoutingKeyFile: fileOf(t, "abc")},
		"url_file: every user":           {Kind: Slack, URLFile: shared},
		"url_file: is not an address":    {Kind: Slack, URLFile: fileOf(t, "SECRET")},
		"url_env: is not an address":     {Kind: Heartbeat, URLEnv: "SOME"},
		"url_file: is longer":            {Kind: Alertmanager, URLFile: fileOf(t, "https://a/"+strings.Repeat("SECRET", 400))},
		"token_file: every user":         {Kind: Alertmanager, URL: "http://a.example", TokenFile: shared},
		"secret_file: the secret is not": {Kind: Webhook, URL: "http://a.example", SecretFile: fileOf(t, "SECRET")},
		"secret_env: the secret is not":  {Kind: Webhook, URL: "http://a.example", SecretEnv: "SOME"},
		"secret_file_old: every user":    {Kind: Webhook, URL: "http://a.example", SecretFile: fileOf(t, secretSign), SecretOld: shared},
		"password_file: every user":      {Kind: Email, Server: "mail.example", PasswordFile: shared},
		"ca_file: ":                      {Kind: Heartbeat, URL: "http://a.example", CAFile: shared},
		`kind: "pigeon" is no kind`:      {Kind: "pigeon"},
	} {
		var got []string
		r := c.Open(func(name string) string { return map[string]string{"SOME": "SECRET of the environment"}[name] }, func(key string, err error) {
			got = append(got, key+": "+err.Error())
		})
		if r != nil || !strings.Contains(strings.Join(got, "\n"), want) || strings.Contains(strings.Join(got, "\n"), "SECRET") {
			t.Errorf("got the faults %q, want one that says %q and quotes nothing", got, want)
		}
	}
	c := configOf(t, PagerDuty, "")
	c.RoutingKeyFile, c.RoutingKeyEnv = "", "SOME"
	if r := c.Open(func(string) string { return secretKey }, func(key string, err error) { t.Errorf("%s: %v", key, err) }); r == nil || r.medium.(pager).key != secretKey {
		t.Error("the key is not that of the environment")
	}
}

// Two secrets sign, while one is changed.
func TestTwoSecretsSign(t *testing.T) {
	t.Parallel()
	var signed string
	s := play(t, func(_ http.ResponseWriter, req *http.Request) { signed = req.Header.Get("Webhook-Signature") })
	c := configOf(t, Webhook, s.URL)
	c.SecretOld = fileOf(t, secretSign)
	if answer, err := tell(t, open(t, c), nil); answer != alerts.Taken || len(strings.Fields(signed)) != 2 {
		t.Errorf("got answer %d, %v and the signatures %q, want two", answer, err, signed)
	}
}

// A secret that is cut off where reading ends is not shown either.
func TestTheEndOfALongAnswer(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("SECRET0", 270)
	s := play(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat(long, 20))
	})
	c := configOf(t, Heartbeat, s.URL)
	c.URLFile = fileOf(t, s.URL+long)
	_, err := tell(t, open(t, c), nil)
	judgeTales(t, "a long answer", err)
}
