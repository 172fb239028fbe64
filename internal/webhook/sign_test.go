package webhook_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/webhook"
)

// The signature is that of a published example; with a second key there is another one behind it.
func TestSignaturesAreStandard(t *testing.T) {
	t.Parallel()
	key, err := base64.StdEncoding.DecodeString("plJ3nmyCDGBKInavdOK15jsl")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"event_type":"ping","data":{"success":true}}`)
	const want = "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="
	h := http.Header{}
	webhook.Sign(h, "msg_loFOjxBNrRLzqYUf", time.Unix(1731705121, 0), body, key)
	if got := h.Get("webhook-signature"); got != want || h.Get("webhook-id") != "msg_loFOjxBNrRLzqYUf" || h.Get("webhook-timestamp") != "1731705121" {
		t.Errorf("got %v, want the signature %s", h, want)
	}
	webhook.Sign(h, "msg_loFOjxBNrRLzqYUf", time.Unix(1731705121, 0), body, key, []byte("other"))
	if got := h.Get("webhook-signature"); !strings.HasPrefix(got, want+" v1,") {
		t.Errorf("got %s, want two signatures", got)
	}
}
