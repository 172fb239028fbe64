// Package webhook signs messages as Standard Webhooks 1.0 says, and has none sent behind a shut gate: for the posts of jobs and for those that tell of transactions.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Sign sets the headers of a message with an ID: its time, and its signature with each key. A receiver takes any of them, so that keys
// can be changed.
func Sign(h http.Header, id string, now time.Time, body []byte, keys ...[]byte) {
	at := strconv.FormatInt(now.Unix(), 10)
	var all []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", at)
	h.Set("Webhook-Signature", strings.Join(all, " "))
}
