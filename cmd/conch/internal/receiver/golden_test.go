package receiver

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/storytest"
)

// told are the messages whose bytes are kept in testdata.
func told() map[string]alerts.Message {
	several, one, passed, silenced := sample(3, 7), sample(1, 0), sample(1, 0), sample(1, 0)
	one.Status, one.Until, one.Seq = alerts.Resolved, now, 43
	passed.Status, passed.Until = alerts.Passed, now
	silenced.Silence = "scope=~\"scope-.*\" until 12:01, by ann: moving"
	return map[string]alerts.Message{"1 firing": several, "2 resolved": one, "3 passed": passed, "4 after a silence": silenced}
}

// F9: what each receiver is sent. A diff of these files is another format, which users read in the page about alerts.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, kind := range overHTTP {
		var got strings.Builder
		s := play(t, func(w http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			verify(t, kind, req.Header, body)
			fmt.Fprintf(&got, "%s %s\n", req.Method, req.URL)
			for _, key := range []string{"Authorization", "Content-Type", "Webhook-Id", "Webhook-Timestamp"} {
				for _, text := range req.Header.Values(key) {
					fmt.Fprintf(&got, "%s: %s\n", key, text)
				}
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, body, "", "  "); err != nil && len(body) > 0 {
				t.Errorf("%s: %v", kind, err)
			}
			got.WriteString("\n" + pretty.String() + "\n\n")
			w.WriteHeader(http.StatusAccepted)
		})
		r := open(t, configOf(t, kind, s.URL))
		all := told()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			got.WriteString("# " + name + "\n")
			if answer, err := r.Tell(t.Context(), nil, home.Write(texts, all[name])); answer != alerts.Taken || err != nil {
				t.Errorf("%s, %s: got answer %d and %v", kind, name, answer, err)
			}
			if kind == Heartbeat {
				break
			}
		}
		storytest.Golden(t, *update, filepath.Join("testdata", kind+".txt"), strings.ReplaceAll(got.String(), s.URL, "URL"))
	}
}

// verify checks the signature of a webhook by hand, as a receiver does.
func verify(t *testing.T, kind string, h http.Header, body []byte) {
	t.Helper()
	if kind != Webhook {
		return
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secretSign, "whsec_"))
	if err != nil {
		t.Error(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("Webhook-Signature") != want {
		t.Errorf("got the signature %q, want %q", h.Get("Webhook-Signature"), want)
	}
}

// Nobody is called by the name of a scope: Slack would ring all who are in the channel.
func TestNamesCallNobody(t *testing.T) {
	t.Parallel()
	m := sample(1, 0)
	m.Rule = "<!here> @channel"
	m.Members[0].Labels["scope"] = "<!channel> <@U123> @everyone https://evil.example"
	sent := message(home.Write(texts, m))
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\\u003c!channel", "\\u003c!here", "\\u003c@U123", "<!channel", "<!here", "<@U123"} {
		if strings.Contains(string(body), bad) {
			t.Errorf("it has %q: %s", bad, body)
		}
	}
	if sent.Parse != "none" || strings.Count(string(body), `"verbatim":true`) != strings.Count(string(body), `"mrkdwn"`) {
		t.Errorf("Slack may look for names in it: %s", body)
	}
}
