// Package webhook signs messages as Standard Webhooks 1.0 says: those of jobs, of transactions and of alerts. What of them is sent is an act of a gate.
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

const (
	secretPrefix = "whsec_"
	leastKey     = 24
	mostKey      = 64
)

// ParseSecret reads a secret as Standard Webhooks writes it: base64 of 24 to 64 bytes, after whsec_ or alone. Its error quotes nothing of it.
func ParseSecret(text string) (key []byte, err error) {
	key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), secretPrefix))
	if err != nil || len(key) < leastKey || len(key) > mostKey {
		return nil, fmt.Errorf("the secret is not %s and base64 of %d to %d bytes, as this makes one: echo %s$(openssl rand -base64 32)", secretPrefix, leastKey, mostKey, secretPrefix)
	}
	return key, nil
}
